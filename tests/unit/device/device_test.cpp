#include "trireme/device/device.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
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
  for (const Isa isa : all_isas) {
    if (isa > detect_isa()) {
      EXPECT_THROW(Device({.num_threads = 1, .isa = isa}), InputError) << name_of(isa);
    } else {
      EXPECT_NO_THROW(Device({.num_threads = 1, .isa = isa})) << name_of(isa);
    }
  }
}

TEST(Isa, HasNamesInAscendingOrder) {
  EXPECT_TRUE(std::is_sorted(all_isas.begin(), all_isas.end()));
  std::vector<std::string> names;
  for (const Isa isa : all_isas) names.emplace_back(name_of(isa));
  EXPECT_THAT(names, testing::ElementsAre("generic", "avx2", "avx512", "avx512_bf16", "amx"));
}

#if defined(__linux__) && defined(__x86_64__)
// The kernel's own list knows what the system may use.
TEST(Isa, IsWhatTheSystemSaysOfTheProcessor) {
  std::string flags;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line) && !flags.starts_with("flags");) flags = line + " ";
  if (!flags.starts_with("flags")) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const auto has = [&flags](const char* flag) {
    return flags.find(std::string(" ") + flag + " ") != std::string::npos;
  };
  Isa expected = Isa::generic;
  if (has("avx2") && has("fma") && has("bmi2")) expected = Isa::avx2;
  if (expected == Isa::avx2 && has("avx512f") && has("avx512bw") && has("avx512cd") && has("avx512dq") &&
      has("avx512vl")) {
    expected = Isa::avx512;
  }
  if (expected == Isa::avx512 && has("avx512_vnni") && has("avx512_bf16")) expected = Isa::avx512_bf16;
  if (expected == Isa::avx512_bf16 && has("amx_tile") && has("amx_bf16") && has("amx_int8")) expected = Isa::amx;
  EXPECT_EQ(detect_isa(), expected) << name_of(detect_isa()) << " for " << flags;
}
#endif

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

CoreSet cores(std::initializer_list<std::size_t> numbers) {
  CoreSet set;
  for (const std::size_t number : numbers) set.set(number);
  return set;
}

TEST(DefaultNumThreads, AreAllCoresOfARankThatSharesNone) {
  unsetenv("OMP_NUM_THREADS");
  const std::array<CoreSet, 2> bound{cores({0, 1, 2, 3}), cores({4, 5, 6, 4095})};
  EXPECT_EQ(default_num_threads(bound[0], bound), 4);
  EXPECT_EQ(default_num_threads(bound[1], bound), 4);
}

TEST(DefaultNumThreads, AreAnEvenShareOfCoresThatOtherRanksUseToo) {
  unsetenv("OMP_NUM_THREADS");
  const std::array<CoreSet, 3> mixed{cores({0, 1, 2, 3, 4, 5}), cores({0, 1, 2, 3, 4, 5}), cores({5, 6})};
  EXPECT_EQ(default_num_threads(mixed[0], mixed), 2);
  EXPECT_EQ(default_num_threads(mixed[2], mixed), 1);
}

TEST(OwnCores, AreThoseOfTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const CoreSet all = own_cores();
  EXPECT_EQ(all.count(), static_cast<std::size_t>(CPU_COUNT(&before)));
  std::size_t last = all.size() - 1;
  while (!all.test(last)) --last;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(own_cores(), cores({last}));
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(DefaultNumThreads, FollowsTheEnvironmentElseTheCores) {
  const std::vector<CoreSet> alone(1, own_cores());
  const std::vector<CoreSet> crowd(1 << 12, own_cores());
  setenv("OMP_NUM_THREADS", "6,2", 1);
  EXPECT_EQ(default_num_threads(alone[0], alone), 6);
  for (const char* wrong : {"many", "0", "-2", "3x", "99999999999"}) {
    setenv("OMP_NUM_THREADS", wrong, 1);
    EXPECT_THROW((void)default_num_threads(alone[0], alone), InputError) << wrong;
  }
  unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(default_num_threads(alone[0], alone), available_cores());
  EXPECT_EQ(default_num_threads(crowd[0], crowd), 1);
}

}  // namespace
}  // namespace trireme::device
