#include "train/metrics.hpp"

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

}  // namespace
}  // namespace trireme::train
