// Ranks that share the work of `prepare` must write what one process writes.
#include "trireme/data/prepare.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "trireme/base/error.hpp"
#include "trireme/data/token_file.hpp"
#include "trireme/io/file.hpp"

#include "parallel/parallel.hpp"

namespace trireme::data {
namespace {

using trireme::testing::world;

class SharedPrepare : public ::testing::Test {
 protected:
  SharedPrepare() {
    folder_ = (std::filesystem::temp_directory_path() / fmt::format("trireme_prepare_{}", getpid())).string();
    world().broadcast_text(folder_, 0);
    comm::on_root(world(), [&] {
      io::make_folders(folder_);
      io::write_text_atomically(folder_ + "/a.txt", text());
      io::write_text_atomically(folder_ + "/b.txt", "a short file");
    });
    options_.inputs = {folder_ + "/a.txt", folder_ + "/b.txt"};
    options_.piece_bytes = 700;
  }

  ~SharedPrepare() override {
    world().barrier();
    if (world().rank() == 0) io::remove_tree(folder_);
  }

  static std::string text() {
    std::string text;
    for (int i = 0; i < 120; ++i) text += fmt::format("In the  beginning {}\n{}", i, i % 9 == 0 ? "\n\n" : "");
    return text;
  }

  void expect_one_process_writes_the_same() {
    options_.output = folder_ + "/shared.h5";
    prepare(world(), options_);
    options_.output = folder_ + "/alone.h5";
    if (world().rank() != 0) return;
    prepare(*comm::make_self_communicator(), options_);
    EXPECT_EQ(io::read_text(folder_ + "/shared.h5"), io::read_text(folder_ + "/alone.h5"));
    EXPECT_FALSE(io::exists(folder_ + "/shared.h5.parts"));
    EXPECT_GT(TokenFile(folder_ + "/shared.h5").info().num_documents, 2);
  }

  std::string folder_;
  PrepareOptions options_{.document_separator = "\n\n", .sequence_starts = true, .take_fraction = 0.9};
};

TEST_F(SharedPrepare, WritesBytesAsOneProcessDoes) {
  expect_one_process_writes_the_same();
}

TEST_F(SharedPrepare, WritesSentencePiecesAsOneProcessDoes) {
  if (TRIREME_WITH_SENTENCEPIECE == 0) GTEST_SKIP() << "built without SentencePiece";
  options_.tokenizer = "sentencepiece";
  options_.vocab = 290;
  expect_one_process_writes_the_same();
}

TEST_F(SharedPrepare, GoesOnWithThePartsOfAnotherNumberOfRanks) {
  options_.output = folder_ + "/shared.h5";
  comm::on_root(world(), [&] {
    io::set_fault_hook([](const char* call, const std::string& path, std::size_t*) {
      return std::string(call) == "rename" && path.find("part_00003") != std::string::npos ? 5 : 0;
    });
    EXPECT_THROW(prepare(*comm::make_self_communicator(), options_), SystemError);
    io::set_fault_hook({});
    EXPECT_TRUE(io::exists(options_.output + ".parts/part_00002"));
  });
  expect_one_process_writes_the_same();
}

TEST_F(SharedPrepare, FailsAlikeOnAllRanksWhenOneMeetsBadText) {
  if (TRIREME_WITH_SENTENCEPIECE == 0) GTEST_SKIP() << "built without SentencePiece";
  options_.output = folder_ + "/shared.h5";
  options_.tokenizer = "sentencepiece";
  options_.vocab = 290;
  options_.take_fraction = 1;
  comm::on_root(world(), [&] { io::write_text_atomically(folder_ + "/b.txt", "bad \xFF text"); });
  std::string message = "no error";
  try {
    prepare(world(), options_);
  } catch (const InputError& error) {
    message = error.what();
  }
  EXPECT_THAT(message, ::testing::HasSubstr("b.txt` is not UTF-8 at byte 4"));
}

}  // namespace
}  // namespace trireme::data
