#include "trireme/checkpoint/run_lock.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/base/timer.hpp"
#include "trireme/io/file.hpp"

#include "checkpoint/lock_owner.hpp"
#include "unit/io/temporary_folder.hpp"

namespace trireme::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double beat_s = 0.02;
/// A beat so slow that watching ten of them would outlive the test: what passes with it passed at once.
constexpr double slow_s = 50;

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

class Lock : public testing::Test {
 protected:
  Lock() { log::configure(true, 0, log::Level::error); }
  ~Lock() override {
    log::configure(true, 0, log::Level::info);
    for (const char* name : {"SLURM_JOB_ID", "SLURM_RESTART_COUNT", "SLURM_CLUSTER_NAME"}) ::unsetenv(name);
    if (!path_before_.empty()) ::setenv("PATH", path_before_.c_str(), 1);
  }

  [[nodiscard]] std::string refusal(double interval_s = beat_s) const {
    try {
      const RunLock lock(folder_.path(), interval_s);
      return {};
    } catch (const InputError& error) {
      return error.what();
    }
  }

  /// A lock as somebody else left it.
  void plant(const std::function<void(LockOwner&)>& change, double interval_s) {
    LockOwner owner = this_process(interval_s);
    change(owner);
    planted_ = owner;
    io::make_folders(folder_ / "lock");
    io::write_text_atomically(folder_ / "lock/owner", text_of(owner));
    io::write_text_atomically(folder_ / ("lock/beat." + owner.token), "0");
  }

  /// A `squeue` that says this.
  void fake_squeue(const std::string& script) {
    io::make_folders(folder_ / "bin");
    io::write_text_atomically(folder_ / "bin/squeue", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(folder_ / "bin/squeue", std::filesystem::perms::owner_all);
    path_before_ = std::getenv("PATH");
    ::setenv("PATH", ((folder_ / "bin:") + path_before_).c_str(), 1);
  }

  /// Runs work in a child that ends without cleaning up.
  static pid_t in_child(const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work());
    return child;
  }
  static int exit_code_of(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  trireme::test::TemporaryFolder folder_;
  LockOwner planted_;
  std::string path_before_;
};

TEST_F(Lock, IsHeldOnceAndFreeAfterRelease) {
  RunLock lock(folder_.path(), slow_s);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("in use"), HasSubstr("process " + std::to_string(::getpid())),
                               HasSubstr("remove `" + folder_ / "lock`")));
  lock.check();
  lock.release();
  lock.release();
  EXPECT_THAT(io::list_folder(folder_.path()), IsEmpty());
  EXPECT_THROW(lock.check(), SystemError);
  EXPECT_THAT(refusal(), IsEmpty());
}

TEST_F(Lock, TheRunFolderIsMadeWhenAbsent) {
  const RunLock lock(folder_ / "a/b", slow_s);
  EXPECT_TRUE(io::is_folder(folder_ / "a/b/lock"));
}

TEST_F(Lock, OfAKilledProcessIsTakenAtOnce) {
  const pid_t child = in_child([&] {
    const RunLock lock(folder_.path(), slow_s);
    ::raise(SIGKILL);
    return 0;
  });
  sleep_s(0.3);
  EXPECT_THAT(refusal(slow_s), IsEmpty()) << "not even reaped yet";
  exit_code_of(child);
  EXPECT_THAT(refusal(slow_s), IsEmpty());
}

TEST_F(Lock, OfAPidUsedAgainIsTakenAtOnce) {
  plant([](LockOwner& owner) { owner.start_time += 1; }, slow_s);
  EXPECT_THAT(refusal(slow_s), IsEmpty());
}

TEST_F(Lock, OfAnotherHostIsTakenWhenItsBeatStandsStill) {
  plant([](LockOwner& owner) { owner.host = "elsewhere"; }, beat_s);
  const Timer timer;
  EXPECT_THAT(refusal(slow_s), IsEmpty());
  EXPECT_GE(timer.seconds(), 10 * beat_s);
}

TEST_F(Lock, OfAnotherHostIsRefusedWhileItBeats) {
  plant([](LockOwner& owner) { owner.host = "elsewhere"; }, 0.1);
  std::thread beating([&] {
    sleep_s(0.15);
    io::write_text_atomically(folder_ / ("lock/beat." + planted_.token), "1");
  });
  EXPECT_THAT(refusal(), HasSubstr("host `elsewhere`"));
  beating.join();
  EXPECT_TRUE(io::exists(folder_ / "lock/owner"));
}

TEST_F(Lock, OfAnotherContainerOnThisHostIsNotJudgedByItsProcessNumber) {
  plant(
      [](LockOwner& owner) {
        owner.pid_namespace = "pid:[1]";
        owner.pid = 1 << 30;
      },
      0.1);
  std::thread beating([&] {
    sleep_s(0.15);
    io::write_text_atomically(folder_ / ("lock/beat." + planted_.token), "1");
  });
  EXPECT_THAT(refusal(), HasSubstr("in use"));
  beating.join();
}

TEST_F(Lock, ReallyBeats) {
  const RunLock lock(folder_.path(), beat_s);
  std::string beat;
  for (const std::string& name : io::list_folder(folder_ / "lock")) {
    if (name.starts_with("beat.")) beat = folder_ / ("lock/" + name);
  }
  const std::string before = io::read_text(beat);
  sleep_s(20 * beat_s);
  EXPECT_NE(io::read_text(beat), before);
}

TEST_F(Lock, OfAnEndedJobIsTakenAtOnce) {
  for (const char* answer :
       {"echo COMPLETED", "echo NODE_FAIL", "true", "echo 'Invalid job id specified' >&2; exit 1"}) {
    fake_squeue(answer);
    plant(
        [](LockOwner& owner) {
          owner.host = "elsewhere";
          owner.job = "42";
        },
        slow_s);
    EXPECT_THAT(refusal(slow_s), IsEmpty()) << answer;
    ::setenv("PATH", path_before_.c_str(), 1);
  }
}

TEST_F(Lock, OfARunningOrUnknownJobIsWatched) {
  for (const char* answer : {"echo RUNNING", "echo PENDING", "exit 1", "echo COMPLETING"}) {
    fake_squeue(answer);
    plant(
        [](LockOwner& owner) {
          owner.host = "elsewhere";
          owner.job = "42";
        },
        beat_s);
    const Timer timer;
    EXPECT_THAT(refusal(), IsEmpty()) << answer;
    EXPECT_GE(timer.seconds(), 10 * beat_s) << answer;
    ::setenv("PATH", path_before_.c_str(), 1);
  }
}

TEST_F(Lock, AJobNumberFromTheFileNeverReachesTheShell) {
  fake_squeue("touch " + folder_ / "called" + "; echo COMPLETED");
  plant(
      [&](LockOwner& owner) {
        owner.host = "elsewhere";
        owner.job = "42; touch " + (folder_ / "harm");
      },
      beat_s);
  EXPECT_THAT(refusal(), IsEmpty());
  EXPECT_FALSE(io::exists(folder_ / "harm"));
  EXPECT_FALSE(io::exists(folder_ / "called"));
}

TEST_F(Lock, OfAnEarlierRestartOfOurJobIsTakenAtOnce) {
  fake_squeue("echo RUNNING");
  ::setenv("SLURM_JOB_ID", "42", 1);
  ::setenv("SLURM_RESTART_COUNT", "3", 1);
  plant(
      [](LockOwner& owner) {
        owner.host = "elsewhere";
        owner.restart = 2;
      },
      slow_s);
  EXPECT_THAT(refusal(slow_s), IsEmpty());
  plant([](LockOwner& owner) { owner.host = "elsewhere"; }, beat_s);
  const Timer timer;
  EXPECT_THAT(refusal(), IsEmpty());
  EXPECT_GE(timer.seconds(), 10 * beat_s) << "the same restart may be another process of this job";
}

TEST_F(Lock, WithoutAnOwnerIsTakenAfterWatching) {
  io::make_folders(folder_ / "lock");
  const Timer timer;
  EXPECT_THAT(refusal(), IsEmpty());
  EXPECT_GE(timer.seconds(), 10 * beat_s);
}

TEST_F(Lock, AClaimWhoseMakerDiedDoesNotBlockForever) {
  plant([](LockOwner& owner) { owner.start_time += 1; }, beat_s);
  io::make_folders(folder_ / "lock/claim");
  EXPECT_THAT(refusal(), IsEmpty());
}

TEST_F(Lock, AHolderThatLostItStops) {
  RunLock lock(folder_.path(), beat_s);
  io::remove_tree(folder_ / "lock");
  EXPECT_THROW(lock.check(), SystemError);
  plant([](LockOwner& owner) { owner.host = "thief"; }, beat_s);
  try {
    lock.check();
    FAIL() << "still thinks it holds the lock";
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("no longer ours"), HasSubstr("`thief`")));
  }
  lock.release();
  EXPECT_TRUE(io::exists(folder_ / "lock/owner")) << "another's lock was removed";
}

TEST_F(Lock, OfManyProcessesAtOnceExactlyOneWins) {
  for (const bool stale : {false, true}) {
    for (int round = 0; round < 4; ++round) {
      if (stale) plant([](LockOwner& owner) { owner.start_time += 1; }, beat_s);
      int go[2];
      ASSERT_EQ(::pipe(go), 0);
      std::vector<pid_t> children;
      for (int i = 0; i < 6; ++i) {
        children.push_back(in_child([&] {
          char token = 0;
          ::close(go[1]);
          static_cast<void>(!::read(go[0], &token, 1));
          // Stretches the moments between looking and acting, differently in each child.
          std::minstd_rand random(static_cast<unsigned>(::getpid()));
          io::set_fault_hook([&](const char* call, const std::string&, std::size_t*) {
            if (std::string(call) == "rename" || std::string(call) == "mkdir") sleep_s(random() % 30 * 1e-3);
            return 0;
          });
          try {
            const RunLock lock(folder_.path(), beat_s);
            sleep_s(0.6);
            lock.check();
            return 7;
          } catch (const InputError&) {
            return 2;
          } catch (...) {
            return 3;
          }
        }));
      }
      ::close(go[0]);
      ::close(go[1]);
      int winners = 0;
      int losers = 0;
      for (const pid_t child : children) {
        const int code = exit_code_of(child);
        winners += code == 7 ? 1 : 0;
        losers += code == 2 ? 1 : 0;
      }
      EXPECT_EQ(winners, 1);
      EXPECT_EQ(losers, 5);
      io::remove_tree(folder_ / "lock");  // a child leaves it: it ends without destructors
    }
  }
}

}  // namespace
}  // namespace trireme::checkpoint
