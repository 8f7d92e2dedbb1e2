#include "train/metrics.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/io/file.hpp"

namespace trireme::train {
namespace {

class MetricsFileTest : public testing::Test {
 protected:
  MetricsFileTest() {
    std::string pattern = testing::TempDir() + "metrics_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/metrics.jsonl";
  }
  ~MetricsFileTest() override { io::remove_tree(folder_); }
  void write_steps(std::int64_t from, std::int64_t to) {
    MetricsFile file(path_, from);
    for (std::int64_t step = from + 1; step <= to; ++step)
      file.write({.step = step, .loss = 1.0 / static_cast<double>(step)});
  }
  static std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  std::string folder_, path_;
};

TEST_F(MetricsFileTest, EachStepStandsOnceAfterARestart) {
  write_steps(0, 5);
  write_steps(3, 6);
  const std::string text = io::read_text(path_);
  EXPECT_EQ(lines(text), 6U);
  EXPECT_THAT(text, testing::HasSubstr("\"step\":4,"));
  EXPECT_THAT(text, testing::HasSubstr("\"attempt\":2"));
}

TEST_F(MetricsFileTest, ACutLineIsDropped) {
  write_steps(0, 3);
  const std::string text = io::read_text(path_);
  io::write_text_atomically(path_, text.substr(0, text.size() - 20));
  write_steps(2, 3);
  EXPECT_EQ(lines(io::read_text(path_)), 3U);
}

TEST_F(MetricsFileTest, AttemptsGoOnCountingOverDroppedLines) {
  write_steps(0, 2);
  write_steps(1, 3);
  write_steps(0, 1);
  EXPECT_EQ(MetricsFile(path_, 1).attempt(), 4);
}

TEST_F(MetricsFileTest, ALineThatCannotBeWrittenIsLeftOutAndTheNextIsTriedAgain) {
  write_steps(0, 2);
  {
    MetricsFile file(path_, 2);
    int writes = 0;
    // The disk is full after ten bytes of a line, and has room again later.
    io::set_fault_hook([&](const char* call, const std::string&, std::size_t* bytes) {
      if (std::string(call) != "write") return 0;
      if (++writes == 1) *bytes = 10;
      return writes == 2 ? ENOSPC : 0;
    });
    file.write({.step = 3});
    file.write({.step = 4});
    io::set_fault_hook({});
  }
  const std::string text = io::read_text(path_);
  EXPECT_EQ(lines(text), 3U);
  EXPECT_THAT(text, testing::HasSubstr("}\n{\"step\":4,"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\"step\":3,")));
}

TEST_F(MetricsFileTest, ALineThatCannotBeRemovedAtOnceIsRemovedBeforeTheNext) {
  {
    MetricsFile file(path_, 0);
    bool full = true;
    int writes = 0;
    io::set_fault_hook([&](const char* call, const std::string&, std::size_t* bytes) {
      const std::string name = call;
      if (full && name == "write" && ++writes == 1) *bytes = 10;
      if (full && name == "write" && writes > 1) return ENOSPC;
      return full && name == "ftruncate" ? EIO : 0;
    });
    file.write({.step = 1});
    full = false;
    file.write({.step = 2});
    io::set_fault_hook({});
  }
  EXPECT_TRUE(io::read_text(path_).starts_with("{\"step\":2,"));
}

}  // namespace
}  // namespace trireme::train
