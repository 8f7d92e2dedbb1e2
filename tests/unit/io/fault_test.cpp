// What the environment asks for may kill, so each case runs in a child.
#include "io/fault.hpp"

#include <cerrno>
#include <cstdlib>
#include <functional>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trireme/base/error.hpp"
#include "trireme/base/timer.hpp"
#include "trireme/io/file.hpp"

#include "unit/io/temporary_folder.hpp"

namespace trireme::io {
namespace {

using test::TemporaryFolder;

/// The wait status of a child in which `variable` is set and `act` returned; its exit code is what `act` returned.
int child(const char* variable, const std::string& value, const std::function<int()>& act) {
  const pid_t pid = fork();
  if (pid == 0) {
    setenv(variable, value.c_str(), 1);
    int code = 99;
    try {
      read_environment_again();
      code = act();
    } catch (const Error& error) {
      code = static_cast<int>(error.code());
    }
    _exit(code);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// How many one-byte writes to `path` succeed, of ten.
int successful_writes(const std::string& path) {
  File file(path, File::Mode::create);
  int succeeded = 0;
  for (int i = 0; i < 10; ++i) {
    try {
      file.write_at(0, "x", 1);
      ++succeeded;
    } catch (const SystemError&) {
    }
  }
  return succeeded;
}

TEST(Fault, TheEnvironmentFailsTheNamedCallOfTheNamedFileAfterSomeAndForSomeTimes) {
  const TemporaryFolder folder;
  const auto writes = [&](const std::string& clause, const std::string& name) {
    return exit_code(child("TRIREME_FAULT", clause, [&] { return successful_writes(folder / name); }));
  };
  EXPECT_EQ(writes("pwrite:shard_00001:28:3", "shard_00001.h5"), 3);
  EXPECT_EQ(writes("pwrite:shard_00001:28:3", "shard_00000.h5"), 10);
  EXPECT_EQ(writes("pwrite::28", "anything"), 0);
  EXPECT_EQ(writes("pwrite:a:28:3:2", "a"), 8);
  EXPECT_EQ(writes("fsync:a:5;pwrite:a:5:9", "a"), 9);
  EXPECT_EQ(writes("open:a:5", "a"), 3);
}

TEST(Fault, TheEnvironmentKillsTheProcessAtTheCall) {
  const TemporaryFolder folder;
  EXPECT_EQ(exit_code(child("TRIREME_FAULT", "pwrite:a:kill:4", [&] { return successful_writes(folder / "a"); })),
            -SIGKILL);
}

TEST(Fault, TheEnvironmentDelaysAndCutsCalls) {
  const TemporaryFolder folder;
  const Timer timer;
  child("TRIREME_FAULT", "pwrite:a:sleep=0.05:0:2", [&] { return successful_writes(folder / "a"); });
  EXPECT_GE(timer.seconds(), 0.1);
  child("TRIREME_FAULT", "pwrite:a:short=2", [&] {
    File(folder / "a", File::Mode::create).write_at(0, "1234567", 7);
    return 0;
  });
  EXPECT_EQ(read_text(folder / "a"), "1234567");
}

TEST(Fault, AClauseThatMakesNoSenseIsAnInputError) {
  const TemporaryFolder folder;
  for (const char* clause : {"pwrite", "pwrite:a", "pwrite:a:ENOSPC", "pwrite:a:28:x", "pwrite:a:28:1:2:3", "a:b:-1"}) {
    EXPECT_EQ(exit_code(child("TRIREME_FAULT", clause, [&] { return successful_writes(folder / "a"); })), 2) << clause;
  }
}

TEST(MaxIoBytes, IsOneGibUnlessTheEnvironmentLowersIt) {
  const auto limit_is = [](std::size_t wanted) { return [=] { return max_io_bytes() == wanted ? 1 : 0; }; };
  EXPECT_EQ(exit_code(child("NOTHING", "", limit_is(std::size_t{1} << 30))), 1);
  EXPECT_EQ(exit_code(child("TRIREME_MAX_IO_BYTES", "1000", limit_is(1000))), 1);
  for (const char* wrong : {"0", "x", "", "5000000000", "-3"}) {
    EXPECT_EQ(exit_code(child("TRIREME_MAX_IO_BYTES", wrong, limit_is(1000))), 2) << wrong;
  }
}

TEST(MaxIoBytes, NoCallExceedsItAndTheDataIsWhole) {
  const TemporaryFolder folder;
  const auto act = [&] {
    std::size_t most = 0;
    set_fault_hook([&](const char*, const std::string&, std::size_t* bytes) {
      most = std::max(most, *bytes);
      return 0;
    });
    std::string text(10'007, 'x');
    for (std::size_t i = 0; i < text.size(); ++i) {
      text[i] = static_cast<char>(i * 31);
    }
    File(folder / "a", File::Mode::create).write_at(0, text.data(), text.size());
    File(folder / "a", File::Mode::append).write(text.data(), text.size());
    return read_text(folder / "a") == text + text && most == 1000 ? 1 : 0;
  };
  EXPECT_EQ(exit_code(child("TRIREME_MAX_IO_BYTES", "1000", act)), 1);
}

}  // namespace
}  // namespace trireme::io
