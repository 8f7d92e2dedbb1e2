#include "trireme/io/file.hpp"

#include <cerrno>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "trireme/base/error.hpp"

#include "unit/io/temporary_folder.hpp"

namespace trireme::io {
namespace {

using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

/// The message of the Kind that `act` throws.
template <class Kind, class Act>
std::string message_of(Act&& act) {
  try {
    act();
  } catch (const Kind& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

class FileTest : public testing::Test {
 protected:
  ~FileTest() override { set_fault_hook({}); }
  TemporaryFolder folder_;
};

TEST_F(FileTest, WhatIsWrittenAtAnOffsetIsReadBack) {
  const std::string path = folder_ / "a";
  File file(path, File::Mode::create);
  file.write_at(5, "world", 5);
  file.write_at(0, "hello", 5);
  file.close();
  File again(path, File::Mode::read_write);
  EXPECT_EQ(again.size(), 10U);
  char text[6] = {};
  again.read_at(3, text, 5);
  EXPECT_STREQ(text, "lowor");
  again.truncate(4);
  EXPECT_EQ(read_text(path), "hell");
}

TEST_F(FileTest, CreateEmptiesAndAppendKeeps) {
  const std::string path = folder_ / "a";
  for (const char* word : {"one", "two"}) {
    File file(path, File::Mode::append);
    file.write(word, 3);
  }
  EXPECT_EQ(read_text(path), "onetwo");
  File(path, File::Mode::create).close();
  EXPECT_EQ(read_text(path), "");
}

TEST_F(FileTest, AMovedFromFileIsClosedAndTheNewOneWorks) {
  File file(folder_ / "a", File::Mode::create);
  File other = std::move(file);
  other.write_at(0, "x", 1);
  other.close();
  other.close();
  EXPECT_EQ(read_text(folder_ / "a"), "x");
}

TEST_F(FileTest, AMissingOrUnfitFileIsAnInputErrorNamingIt) {
  EXPECT_THAT(message_of<InputError>([&] { File(folder_ / "missing", File::Mode::read); }),
              AllOf(HasSubstr("missing`"), HasSubstr("No such file")));
  EXPECT_THAT(message_of<InputError>([&] { File(folder_.path(), File::Mode::read); }), HasSubstr("Is a directory"));
  EXPECT_THAT(message_of<SystemError>([&] { File(folder_ / "no/folder", File::Mode::create); }),
              AllOf(HasSubstr("no/folder`"), HasSubstr("open: No such file")));
}

TEST_F(FileTest, AShortFileSaysWantedAndHad) {
  File file(folder_ / "a", File::Mode::create);
  file.write_at(0, "12345", 5);
  char text[8];
  EXPECT_THAT(message_of<InputError>([&] { file.read_at(2, text, 8); }),
              HasSubstr("too short (wanted 8 bytes at byte 2, only 3 are there)"));
}

TEST_F(FileTest, InterruptedAndShortTransfersGoOn) {
  int calls = 0;
  set_fault_hook([&](const char* call, const std::string&, std::size_t* bytes) {
    if (std::strcmp(call, "pwrite") != 0 && std::strcmp(call, "pread") != 0 && std::strcmp(call, "write") != 0) {
      return 0;
    }
    *bytes = std::min<std::size_t>(*bytes, 3);
    return ++calls % 2 == 0 ? EINTR : 0;
  });
  std::string text(101, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>(i);
  }
  File file(folder_ / "a", File::Mode::create);
  file.write_at(0, text.data(), text.size());
  File tail(folder_ / "a", File::Mode::append);
  tail.write(text.data(), text.size());
  EXPECT_EQ(read_text(folder_ / "a"), text + text);
  EXPECT_GT(calls, 120);
}

TEST_F(FileTest, AWriteThatMovesNothingIsAFailureNotALoop) {
  set_fault_hook([](const char*, const std::string&, std::size_t* bytes) {
    *bytes = 0;
    return 0;
  });
  for (const File::Mode mode : {File::Mode::create, File::Mode::append}) {
    File file(folder_ / "a", mode);
    EXPECT_THAT(message_of<SystemError>(
                    [&] { mode == File::Mode::append ? file.write("abc", 3) : file.write_at(0, "abc", 3); }),
                AllOf(HasSubstr("cannot write"), HasSubstr("at byte 0")));
  }
}

TEST_F(FileTest, AFullDiskSaysPathNeededFreeAndRemedy) {
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) {
    set_fault_hook([error](const char* call, const std::string&, std::size_t*) {
      return std::strcmp(call, "pwrite") == 0 ? error : 0;
    });
    File file(folder_ / "big", File::Mode::create);
    EXPECT_THAT(message_of<SystemError>([&] { file.write_at(7, "12345", 5); }),
                AllOf(HasSubstr(folder_ / "big"), HasSubstr("needed 5 bytes at byte 7"), HasSubstr("free "),
                      HasSubstr(std::strerror(error)), HasSubstr("choose another file system")));
  }
}

TEST_F(FileTest, APipeIsRefusedAtOnce) {
  const std::string path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(message_of<InputError>([&] { const File file(path, File::Mode::read); }),
              AllOf(HasSubstr(path), HasSubstr("is a pipe")));
}

TEST_F(FileTest, AFailedSyncIsNeverTriedAgain) {
  for (const int error : {EIO, EINTR}) {
    int calls = 0;
    set_fault_hook([&](const char* call, const std::string&, std::size_t*) {
      return std::strcmp(call, "fsync") == 0 ? (++calls, error) : 0;
    });
    File file(folder_ / "a", File::Mode::create);
    EXPECT_THAT(message_of<SystemError>([&] { file.sync(); }), HasSubstr("fsync"));
    EXPECT_EQ(calls, 1);
  }
}

TEST_F(FileTest, CloseReportsAndTheDestructorDoesNot) {
  set_fault_hook(
      [](const char* call, const std::string&, std::size_t*) { return std::strcmp(call, "close") == 0 ? EIO : 0; });
  { const File file(folder_ / "a", File::Mode::create); }
  File file(folder_ / "a", File::Mode::create);
  EXPECT_THAT(message_of<SystemError>([&] { file.close(); }), HasSubstr("close"));
  file.close();
}

TEST_F(FileTest, AnAtomicTextIsOldOrNewWhateverCallFails) {
  const std::string path = folder_ / "a";
  write_text_atomically(path, "old");
  for (const char* failing : {"open", "pwrite", "fsync", "close", "rename"}) {
    set_fault_hook(
        [&](const char* call, const std::string&, std::size_t*) { return std::strcmp(call, failing) == 0 ? EIO : 0; });
    EXPECT_THROW(write_text_atomically(path, "new"), SystemError) << failing;
    set_fault_hook({});
    EXPECT_EQ(read_text(path), "old") << failing;
    EXPECT_EQ(list_folder(folder_.path()), std::vector<std::string>{"a"}) << failing;
  }
  write_text_atomically(path, "new");
  EXPECT_EQ(read_text(path), "new");
}

}  // namespace
}  // namespace trireme::io
