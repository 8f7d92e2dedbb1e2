#include "train/attempts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/io/file.hpp"

#include "unit/io/temporary_folder.hpp"

namespace trireme::train {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr double day_s = 86400;
constexpr double published = 419.0 / (2048 * 54);

class AttemptsOfARun : public testing::Test {
 protected:
  [[nodiscard]] Attempts start(std::int64_t number) const {
    return {path_, {.number = number, .hosts = 2, .first_step = 10, .last_step = 10}};
  }

  trireme::test::TemporaryFolder folder_;
  std::string path_ = folder_ / "attempts.tsv";
};

TEST_F(AttemptsOfARun, AreListedWithTheirEnds) {
  Attempts first = start(1);
  first.saved(15);
  first.ended("the walltime");
  static_cast<void>(start(2));  // killed before it could say anything
  const std::vector<Attempt> earlier = start(3).earlier();
  ASSERT_THAT(earlier, SizeIs(2));
  EXPECT_EQ(earlier[0].end, "the walltime");
  EXPECT_EQ(earlier[0].last_step, 15);
  EXPECT_GT(earlier[0].ran_s, 0);
  EXPECT_EQ(earlier[1].end, "cut");
  EXPECT_EQ(earlier[1].number, 2);
  EXPECT_EQ(earlier[1].hosts, 2);
  EXPECT_THAT(io::read_text(path_), HasSubstr("\n3\t0\t2\t10\t10\t0\trunning\n"));
}

TEST_F(AttemptsOfARun, AreReadPastLinesThatNobodyUnderstands) {
  io::write_text_atomically(path_, "1\t0\t2\t0\t5\t60\tfinished\nnonsense\n2\t0\t-2\t0\t5\t60\tcut\n3\t0\t1\t5\t");
  EXPECT_THAT(start(4).earlier(), SizeIs(1));
}

TEST_F(AttemptsOfARun, GoOnWhereTheListCannotBeWritten) {
  io::set_fault_hook([](const char* call, const std::string& path, std::size_t*) {
    return std::string(call) == "open" && path.find("attempts.tsv") != std::string::npos ? 28 : 0;
  });
  Attempts attempts(path_, {.number = 1});
  attempts.saved(5);
  io::set_fault_hook({});
}

TEST(FailureRate, IsThePublishedOnePerHostWhereNothingWasSeen) {
  EXPECT_DOUBLE_EQ(failure_rate({}, 1).per_day, published);
  EXPECT_NEAR(failure_rate({}, 2048).per_day, 419.0 / 54, 1e-9);
}

TEST(FailureRate, BelievesWhatWasSeenTheMoreTheLongerItWasSeen) {
  const auto seen = [](int num_cut, double days_each) {
    std::vector<Attempt> attempts(static_cast<std::size_t>(num_cut),
                                  {.hosts = 10, .ran_s = days_each * day_s, .end = "cut"});
    attempts.push_back({.hosts = 10, .ran_s = days_each * day_s, .end = "finished"});
    return failure_rate(attempts, 4).per_day;
  };
  const double after_minutes = seen(1, 1e-3);
  EXPECT_NEAR(after_minutes, 4 * 2 * published, 1e-3);  // one early failure does no more than double it
  // Of hosts that fail every 20 days, each 10 together every other day.
  EXPECT_NEAR(seen(400, 2), 4.0 / 20, 0.01);
  EXPECT_THAT(failure_rate({{.hosts = 2, .ran_s = day_s, .end = "cut"}}, 3).source,
              testing::AllOf(HasSubstr("1 in 2 host-days of this run"), HasSubstr("1 in 264 host-days"),
                             HasSubstr("on 3 hosts")));
}

}  // namespace
}  // namespace trireme::train
