#include <cerrno>
#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "trireme/base/error.hpp"
#include "trireme/io/file.hpp"

#include "unit/io/temporary_folder.hpp"

namespace trireme::io {
namespace {

using test::TemporaryFolder;
using testing::ElementsAre;
using testing::IsEmpty;

class FolderTest : public testing::Test {
 protected:
  ~FolderTest() override { set_fault_hook({}); }
  TemporaryFolder folder_;
};

TEST_F(FolderTest, MakingOneTellsWhoWasFirst) {
  EXPECT_TRUE(make_folder(folder_ / "lock"));
  EXPECT_FALSE(make_folder(folder_ / "lock"));
  EXPECT_TRUE(is_folder(folder_ / "lock"));
  EXPECT_THROW(make_folder(folder_ / "no/parent"), SystemError);
}

TEST_F(FolderTest, MakingAWholePathNeedsNoneOfItsParts) {
  make_folders(folder_ / "a//b/c/");
  make_folders(folder_ / "a/b/c");
  EXPECT_TRUE(is_folder(folder_ / "a/b/c"));
  write_text_atomically(folder_ / "file", "");
  EXPECT_THROW(make_folders(folder_ / "file"), SystemError);
  EXPECT_THROW(make_folders(folder_ / "file/below"), SystemError);
}

TEST_F(FolderTest, EntriesAreListedByNameNotByTime) {
  for (const char* name : {"c", "a", "b", ".hidden"}) {
    write_text_atomically(folder_ / name, name);
  }
  EXPECT_THAT(list_folder(folder_.path()), ElementsAre(".hidden", "a", "b", "c"));
  EXPECT_THAT(list_folder(folder_ / "missing"), IsEmpty());
  EXPECT_THROW(list_folder(folder_ / "a"), SystemError);
}

TEST_F(FolderTest, ExistsAnswersNoOnlyWhenThereIsNothing) {
  EXPECT_FALSE(exists(folder_ / "a"));
  write_text_atomically(folder_ / "a", "");
  EXPECT_TRUE(exists(folder_ / "a"));
  EXPECT_FALSE(is_folder(folder_ / "a"));
  EXPECT_FALSE(exists(folder_ / "a/b"));
  set_fault_hook(
      [](const char* call, const std::string&, std::size_t*) { return std::strcmp(call, "stat") == 0 ? EIO : 0; });
  EXPECT_THROW(static_cast<void>(exists(folder_ / "a")), SystemError);
}

TEST_F(FolderTest, ALinkToAFolderIsNoRealFolder) {
  make_folders(folder_ / "folder");
  std::filesystem::create_directory_symlink(folder_ / "folder", folder_ / "link");
  EXPECT_TRUE(is_folder(folder_ / "link"));
  EXPECT_FALSE(is_real_folder(folder_ / "link"));
  EXPECT_TRUE(is_real_folder(folder_ / "folder"));
  EXPECT_FALSE(is_real_folder(folder_ / "missing"));
}

TEST(ParentOf, IsWhatHoldsThePath) {
  EXPECT_EQ(parent_of("a/b"), "a");
  EXPECT_EQ(parent_of("a/b/"), "a");
  EXPECT_EQ(parent_of("/a"), "/");
  EXPECT_EQ(parent_of("a"), ".");
  EXPECT_EQ(parent_of("a/"), ".");
}

TEST_F(FolderTest, RenameReplacesAFileAndNamesBothWhenItFails) {
  write_text_atomically(folder_ / "a", "new");
  write_text_atomically(folder_ / "b", "old");
  rename(folder_ / "a", folder_ / "b");
  EXPECT_EQ(read_text(folder_ / "b"), "new");
  try {
    rename(folder_ / "a", folder_ / "c");
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), AllOf(testing::HasSubstr("/a` to `"), testing::HasSubstr("/c`")));
  }
}

TEST_F(FolderTest, RemovingATreeNeverFollowsALink) {
  make_folders(folder_ / "kept");
  write_text_atomically(folder_ / "kept/file", "");
  make_folders(folder_ / "tree/below");
  write_text_atomically(folder_ / "tree/below/file", "");
  std::filesystem::create_symlink(folder_ / "kept", folder_ / "tree/link");
  remove_tree(folder_ / "tree");
  remove_tree(folder_ / "tree");
  EXPECT_THAT(list_folder(folder_.path()), ElementsAre("kept"));
  EXPECT_TRUE(exists(folder_ / "kept/file"));
  remove_file(folder_ / "kept/file");
  remove_file(folder_ / "kept/file");
  EXPECT_THAT(list_folder(folder_ / "kept"), IsEmpty());
}

TEST_F(FolderTest, SyncAcceptsFileSystemsWithoutIt) {
  int answer = EINVAL;
  set_fault_hook(
      [&](const char* call, const std::string&, std::size_t*) { return std::strcmp(call, "fsync") == 0 ? answer : 0; });
  sync_folder(folder_.path());
  answer = EIO;
  EXPECT_THROW(sync_folder(folder_.path()), SystemError);
}

TEST_F(FolderTest, FreeSpaceIsAskedOfTheNearestFolder) {
  EXPECT_GT(free_bytes(folder_.path()), 0U);
  EXPECT_GT(free_bytes(folder_ / "not_there_yet"), 0U);
}

}  // namespace
}  // namespace trireme::io
