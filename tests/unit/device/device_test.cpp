#include "trireme/device/device.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "trireme/base/error.hpp"

namespace trireme::device {
namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(Device, RunsEveryBlockOnceOnAnyNumberOfThreads) {
  for (int threads : {1, 2, 3, 5}) {
    const Device device({.num_threads = threads, .isa = Isa::generic});
    for (bool dynamic : {false, true}) {
      for (std::int64_t blocks : {0, 1, 2, 3, 4, 7, 100, 1001}) {
        std::vector<std::atomic<int>> calls(static_cast<std::size_t>(blocks));
        device.parallel(
            blocks,
            [&](std::int64_t block, int thread) {
              ASSERT_GE(thread, 0);
              ASSERT_LT(thread, threads);
              ++calls[static_cast<std::size_t>(block)];
            },
            dynamic);
        for (const auto& count : calls) ASSERT_EQ(count, 1) << threads << " threads, " << blocks << " blocks";
      }
    }
  }
}

TEST(Device, GivesEachThreadOneContiguousShare) {
  const Device device({.num_threads = 3, .isa = Isa::generic});
  std::vector<int> owner(100);
  device.parallel(100, [&](std::int64_t block, int thread) { owner[static_cast<std::size_t>(block)] = thread; });
  EXPECT_TRUE(std::is_sorted(owner.begin(), owner.end()));
  EXPECT_EQ(std::set<int>(owner.begin(), owner.end()).size(), 3U);
}

TEST(Device, SurvivesManyShortJobsWithPausesBetween) {
  const Device device({.num_threads = 3, .isa = Isa::generic});
  std::int64_t expected = 0;
  std::atomic<std::int64_t> sum{0};
  for (int job = 0; job < 3000; ++job) {
    if (job % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    device.parallel(
        5, [&](std::int64_t block, int) { sum += block; }, job % 2 == 0);
    expected += 10;
    ASSERT_EQ(sum, expected);
  }
}

TEST(Device, SleepsWhenThereIsNothingToDo) {
  const Device device({.num_threads = 3, .isa = Isa::generic});
  device.parallel(3, [](std::int64_t, int) {});
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(cpu_seconds() - before, 0.02);
}

TEST(Device, ThrowsTheErrorOfABlockAgainAndGoesOn) {
  for (int threads : {1, 3}) {
    const Device device({.num_threads = threads, .isa = Isa::generic});
    for (std::int64_t bad : {0, 4, 9}) {
      const auto body = [bad](std::int64_t block, int) {
        if (block == bad) throw std::runtime_error("block " + std::to_string(bad));
      };
      try {
        device.parallel(10, body);
        FAIL() << "the error was lost";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), "block " + std::to_string(bad));
      }
    }
    std::atomic<int> calls{0};
    device.parallel(10, [&](std::int64_t, int) { ++calls; });
    EXPECT_EQ(calls, 10);
  }
}

#if defined(__x86_64__)
TEST(Device, FlushesDenormalsOnEveryThread) {
  const Device device({.num_threads = 3, .isa = Isa::generic});
  std::vector<float> results(30, -1.0F);
  device.parallel(30, [&](std::int64_t block, int) {
    volatile float tiny = std::numeric_limits<float>::min();
    results[static_cast<std::size_t>(block)] = tiny * 0.5F;
  });
  EXPECT_THAT(results, testing::Each(0.0F));
}
#endif

TEST(Device, DescribesItself) {
  EXPECT_THAT(Device({.num_threads = 2, .isa = Isa::generic}).description(),
              testing::EndsWith(" x 2 threads, generic"));
  EXPECT_THAT(Device({.num_threads = 1, .isa = Isa::generic}).description(), testing::EndsWith(" x 1 thread, generic"));
}

TEST(Device, RefusesWhatTheProcessorCannotDo) {
  EXPECT_THROW(Device({.num_threads = 0, .isa = Isa::generic}), InputError);
  if (detect_isa() < Isa::avx512) {
    EXPECT_THROW(Device({.num_threads = 1, .isa = Isa::avx512}), InputError);
  }
  EXPECT_NO_THROW(Device({.num_threads = 1, .isa = detect_isa()}));
}

/// Allows this process so many more bytes of addresses than it has.
void limit_addresses(std::size_t more_bytes) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more_bytes;
  const rlimit both{limit, limit};
  setrlimit(RLIMIT_AS, &both);
}

TEST(Device, SaysWhenItsThreadsCannotStart) {
  const auto start_too_many = [] {
    limit_addresses(std::size_t{64} << 20);
    try {
      const Device device({.num_threads = 1000, .isa = Isa::generic});
    } catch (const SystemError& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::_Exit(3);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(start_too_many(), testing::ExitedWithCode(3),
              "cannot start 1000 threads .* set OMP_NUM_THREADS to fewer");
}

TEST(DefaultNumThreads, FollowsTheEnvironmentElseTheCores) {
  setenv("OMP_NUM_THREADS", "6,2", 1);
  EXPECT_EQ(default_num_threads(1), 6);
  for (const char* wrong : {"many", "0", "-2", "3x", "99999999999"}) {
    setenv("OMP_NUM_THREADS", wrong, 1);
    EXPECT_THROW((void)default_num_threads(1), InputError) << wrong;
  }
  unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(default_num_threads(1), available_cores());
  EXPECT_EQ(default_num_threads(1 << 20), 1);
}

}  // namespace
}  // namespace trireme::device
