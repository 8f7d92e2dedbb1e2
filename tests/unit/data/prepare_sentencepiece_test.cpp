#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/data/prepare.hpp"
#include "trireme/data/token_file.hpp"
#include "trireme/io/file.hpp"
#include "trireme/text/tokenizer.hpp"

#include "unit/data/datasets.hpp"
#include "unit/io/temporary_folder.hpp"

namespace trireme::data {
namespace {

using test::message_of;
using testing::AllOf;
using testing::HasSubstr;

std::string corpus() {
  std::string text;
  for (int i = 0; i < 150; ++i) {
    text += "  In the beginning God created the heaven\tand the earth " + std::to_string(i) + "\n";
    if (i % 7 == 0) text += "\n\n\nAnd the earth was without form, caf\xC3\xA9 \xE6\xBC\xA2\r\n";
  }
  return text;
}

class PrepareSentencePieceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (TRIREME_WITH_SENTENCEPIECE == 0) GTEST_SKIP() << "built without SentencePiece";
    io::write_text_atomically(folder_ / "a.txt", corpus());
  }

  TokenFileInfo run() {
    io::remove_tree(options_.output);
    prepare(*communicator_, options_);
    return TokenFile(options_.output).info();
  }

  std::string refusal() {
    return message_of([&] { prepare(*communicator_, options_); });
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_self_communicator();
  PrepareOptions options_{
      .output = folder_ / "out.h5", .inputs = {folder_ / "a.txt"}, .tokenizer = "sentencepiece", .vocab = 400};
};

TEST_F(PrepareSentencePieceTest, LosesNothingOfTheText) {
  const TokenFileInfo info = run();
  EXPECT_EQ(info.vocab, 400);
  EXPECT_LT(info.num_tokens, static_cast<std::int64_t>(corpus().size() / 2));
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(info.num_tokens));
  TokenFile(options_.output).read_tokens(0, tokens);
  EXPECT_EQ(text::make_tokenizer(info.tokenizer_kind, info.tokenizer_model)->decode(tokens), corpus());
}

TEST_F(PrepareSentencePieceTest, WritesTheSameFileForEveryPieceSize) {
  run();
  const std::string whole = io::read_text(options_.output);
  for (const std::int64_t bytes : {301, 1000, 9999}) {
    options_.piece_bytes = bytes;
    run();
    EXPECT_EQ(io::read_text(options_.output), whole) << bytes;
  }
}

TEST_F(PrepareSentencePieceTest, TakesTheTokenizerOfADatasetOrAModelFile) {
  const TokenFileInfo first = run();
  const std::string whole = io::read_text(options_.output);
  io::write_text_atomically(folder_ / "m.model", first.tokenizer_model);
  io::rename(options_.output, folder_ / "first.h5");
  options_.vocab = 0;
  for (const char* source : {"first.h5", "m.model"}) {
    options_.model = folder_ / source;
    run();
    EXPECT_EQ(io::read_text(options_.output), whole);
  }
}

TEST_F(PrepareSentencePieceTest, RefusesADatasetWithAnotherTokenizer) {
  options_.tokenizer = "byte";
  options_.vocab = 0;
  run();
  io::rename(options_.output, folder_ / "bytes.h5");
  options_.tokenizer = "sentencepiece";
  options_.model = folder_ / "bytes.h5";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("bytes.h5"), HasSubstr("has the tokenizer `byte`")));
  options_.model = folder_ / "a.txt";
  EXPECT_THAT(refusal(), HasSubstr("the SentencePiece model cannot be used"));
}

TEST_F(PrepareSentencePieceTest, SaysWhichVocabulariesTheTextAllows) {
  options_.vocab = 50000;
  EXPECT_THAT(refusal(), HasSubstr("choose `--vocab` of at most"));
  EXPECT_FALSE(io::exists(options_.output));
}

TEST_F(PrepareSentencePieceTest, NamesTheByteThatIsNotUtf8) {
  io::write_text_atomically(folder_ / "b.txt", corpus() + "broken \xC3( here");
  options_.inputs.push_back(folder_ / "b.txt");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("b.txt` is not UTF-8 at byte " + std::to_string(corpus().size() + 7)),
                               HasSubstr("found 0xc3")));
}

TEST_F(PrepareSentencePieceTest, NeedsASizeOrAModelButNotBoth) {
  options_.vocab = 0;
  EXPECT_THAT(refusal(), HasSubstr("needs `--vocab N`"));
  options_.vocab = 400;
  options_.model = folder_ / "m.model";
  EXPECT_THAT(refusal(), HasSubstr("exclude each other"));
}

}  // namespace
}  // namespace trireme::data
