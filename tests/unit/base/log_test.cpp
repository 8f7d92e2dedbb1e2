#include "trireme/base/log.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

using testing::internal::CaptureStderr;
using testing::internal::CaptureStdout;
using testing::internal::GetCapturedStderr;
using testing::internal::GetCapturedStdout;

struct Spoken {
  std::string output;
  std::string errors;
};

template <class Speak>
Spoken spoken(Speak&& speak) {
  CaptureStdout();
  CaptureStderr();
  speak();
  return {GetCapturedStdout(), GetCapturedStderr()};
}

void say_all() {
  log::debug("detail {}", 1);
  log::info("step {}", 2);
  log::warning("odd {}", 3);
  log::error("bad {}", 4);
}

TEST(Log, TheSpeakerSaysInfoPlainlyAndTroubleOnTheErrorStream) {
  log::configure(true, 0, log::Level::info);
  const Spoken said = spoken(say_all);
  EXPECT_EQ(said.output, "step 2\n");
  EXPECT_EQ(said.errors, "warning: odd 3\nerror: bad 4\n");
}

TEST(Log, ASilentRankSaysErrorsOnlyWithRankAndHost) {
  log::configure(false, 3, log::Level::debug);
  const Spoken said = spoken(say_all);
  EXPECT_EQ(said.output, "");
  EXPECT_THAT(said.errors, testing::MatchesRegex("rank 3 on [^ ]+: error: bad 4\n"));
}

TEST(Log, BracesInALineAreNotAFormat) {
  log::configure(true, 0, log::Level::info);
  EXPECT_EQ(spoken([] { log::write(log::Level::info, "{} %v {"); }).output, "{} %v {\n");
}

TEST(Log, TheFileGetsEveryLineWithUtcTimeUntilItIsClosed) {
  const std::string path = (std::filesystem::temp_directory_path() / ("log_test_" + std::to_string(getpid()))).string();
  std::ofstream(path) << "an earlier run\n";
  log::configure(true, 0, log::Level::info);
  log::add_file(path);
  spoken(say_all);
  log::close_file();
  spoken([] { log::info("after"); });
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::filesystem::remove(path);
  const std::string time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z ";
  EXPECT_THAT(text.str(), testing::MatchesRegex("an earlier run\n" + time + "step 2\n" + time + "warning: odd 3\n" +
                                                time + "error: bad 4\n"));
}

TEST(Log, AFileThatCannotBeOpenedIsASystemErrorNamingIt) {
  try {
    log::add_file("/proc/no/such/log.txt");
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("/proc/no/such/log.txt"));
  }
}

}  // namespace
}  // namespace trireme
