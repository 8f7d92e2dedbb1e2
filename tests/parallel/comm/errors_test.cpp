#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/comm/communicator.hpp"

#include "parallel/parallel.hpp"

namespace trireme::comm {
namespace {

using ::testing::HasSubstr;
using testing::world;

template <class Work>
std::string words_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + " " + error.what();
  }
  return "no error";
}

TEST(OnRoot, ThrowsOnEveryRankWhatTheRootThrew) {
  int runs = 0;
  const auto count = [&] { ++runs; };
  on_root(world(), count);
  EXPECT_EQ(runs, world().rank() == 0 ? 1 : 0);
  EXPECT_EQ(words_of([] { on_root(world(), [] { throw InputError("no such file"); }); }), "2 no such file");
  EXPECT_EQ(words_of([] { on_root(world(), [] { throw Error(ExitCode::stopped_early, "later"); }); }), "75 later");
}

TEST(OnAll, ThrowsTheErrorOfTheLowestFailingRank) {
  const int lowest = world().size() / 2;
  const auto work = [&] {
    if (world().rank() >= lowest) throw NumericalError("rank " + std::to_string(world().rank()));
  };
  EXPECT_EQ(words_of([&] { on_all(world(), work); }), "4 rank " + std::to_string(lowest));
  EXPECT_EQ(words_of([] { on_all(world(), [] {}); }), "no error");
}

TEST(OnAll, CarriesTheWordsOfForeignExceptions) {
  const auto work = [] {
    if (world().rank() == world().size() - 1) throw std::runtime_error("out of cheese");
  };
  EXPECT_EQ(words_of([&] { on_all(world(), work); }), "3 out of cheese");
}

TEST(OnAll, LetsAFailureOfTheLibraryPassWithoutAnotherCollective) {
  // On one rank only: what was collective here would wait for ever, or meet the barrier below.
  if (world().rank() == world().size() - 1) {
    EXPECT_THROW(on_all(world(), [] { throw CommunicationError("lost"); }), CommunicationError);
    if (world().rank() == 0) {
      EXPECT_THROW(on_root(world(), [] { throw CommunicationError("lost"); }), CommunicationError);
    }
  }
  world().barrier();
}

TEST(AllArrive, IsTrueOnAllRanksWhenAllCome) {
  EXPECT_TRUE(world().all_arrive(60));
}

TEST(MpiErrors, QuoteTheCallTheLibraryAndTheRank) {
  if (world().size() == 1) GTEST_SKIP() << "one rank";
  int number = 0;
  const std::string words = words_of([&] { (void)world().send(&number, sizeof(number), world().size() + 5, 1); });
  EXPECT_THAT(words, HasSubstr("3 `MPI_Isend` failed ("));
  EXPECT_THAT(words, HasSubstr("rank"));
  EXPECT_THAT(words, HasSubstr("on rank " + std::to_string(world().rank()) + ", host `"));
  EXPECT_THAT(words, HasSubstr("while sending 4 bytes to rank " + std::to_string(world().size() + 5)));
}

TEST(MpiErrors, TellAMessageOfAnotherLength) {
  if (world().size() == 1) GTEST_SKIP() << "one rank";
  std::vector<char> data(100);
  if (world().rank() == 0) world().send(data.data(), 40, 1, 21)->wait();
  if (world().rank() != 1) return;
  const auto receive = world().receive(data.data(), 100, 0, 21);
  EXPECT_THAT(words_of([&] { receive->wait(); }), HasSubstr("a message of 40 bytes came"));
}

}  // namespace
}  // namespace trireme::comm
