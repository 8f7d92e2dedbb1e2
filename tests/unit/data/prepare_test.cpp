#include "trireme/data/prepare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/data/token_file.hpp"
#include "trireme/hdf5/file.hpp"
#include "trireme/io/file.hpp"

#include "unit/data/datasets.hpp"
#include "unit/data/ids_files.hpp"
#include "unit/io/temporary_folder.hpp"

namespace trireme::data {
namespace {

using test::message_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// What a dataset holds, read back.
struct ReadBack {
  TokenFileInfo info;
  std::vector<std::int32_t> tokens;
  std::vector<std::int64_t> documents;
  std::vector<std::uint8_t> mask;
};

ReadBack read_back(const std::string& path) {
  const TokenFile file(path);
  ReadBack result{.info = file.info(), .tokens = {}, .documents = {}, .mask = {}};
  result.tokens.resize(static_cast<std::size_t>(file.info().num_tokens));
  result.mask.resize(result.tokens.size());
  result.documents.resize(static_cast<std::size_t>(file.info().num_documents));
  file.read_tokens(0, result.tokens);
  file.read_loss_mask(0, result.mask);
  hdf5::Reader(path).read("documents", Dtype::i64, result.documents.data());
  return result;
}

std::string text_of(const std::vector<std::int32_t>& tokens) {
  return {tokens.begin(), tokens.end()};
}

class PrepareTest : public testing::Test {
 protected:
  ~PrepareTest() override { EXPECT_EQ(hdf5::open_objects(), 0); }

  std::string add_file(const std::string& name, const std::string& text) {
    io::write_text_atomically(folder_ / name, text);
    options_.inputs.push_back(folder_ / name);
    return folder_ / name;
  }

  ReadBack run() {
    io::remove_tree(options_.output);
    prepare(*communicator_, options_);
    EXPECT_FALSE(io::exists(options_.output + ".parts"));
    return read_back(options_.output);
  }

  std::string refusal() {
    return message_of([&] { prepare(*communicator_, options_); });
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_self_communicator();
  PrepareOptions options_{.output = folder_ / "out.h5"};
};

TEST_F(PrepareTest, MakesEachByteAToken) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  add_file("a.txt", all);
  const ReadBack out = run();
  EXPECT_EQ(out.info.vocab, 256);
  EXPECT_EQ(out.info.tokenizer_kind, "byte");
  EXPECT_EQ(out.info.tokenizer_model, "");
  EXPECT_EQ(text_of(out.tokens), all);
  EXPECT_THAT(out.documents, ElementsAre(0));
}

TEST_F(PrepareTest, MakesEachFileADocument) {
  add_file("a.txt", "one");
  add_file("empty.txt", "");
  add_file("b.txt", "two!");
  const ReadBack out = run();
  EXPECT_EQ(text_of(out.tokens), "onetwo!");
  EXPECT_THAT(out.documents, ElementsAre(0, 3));
  EXPECT_FALSE(out.info.has_sequence_starts);
}

TEST_F(PrepareTest, DividesDocumentsAtTheSeparator) {
  add_file("a.txt", "##one##two####three##");
  add_file("b.txt", "#four");
  options_.document_separator = "##";
  options_.sequence_starts = true;
  const ReadBack out = run();
  EXPECT_EQ(text_of(out.tokens), "onetwothree#four");
  EXPECT_THAT(out.documents, ElementsAre(0, 3, 6, 11));
  EXPECT_TRUE(out.info.has_sequence_starts);
}

TEST_F(PrepareTest, WritesTheSameFileForEveryPieceSize) {
  add_file("a.txt",
           "In the\n\n\nbeginning\n\nG\xC3\xB6"
           "d created\n\n\n\nthe heaven");
  add_file("b.txt", "\n\nand the earth\n");
  for (const std::string separator : {"", "\n\n", "e", "\n"}) {
    options_.document_separator = separator;
    options_.piece_bytes = 0;
    run();
    const std::string whole = io::read_text(options_.output);
    for (const std::int64_t bytes : {2, 7, 19, 59}) {
      options_.piece_bytes = bytes;
      run();
      ASSERT_EQ(io::read_text(options_.output), whole) << bytes << " with " << separator;
    }
  }
}

TEST_F(PrepareTest, SplitsTheTextWithoutOverlapOrGapBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 97; ++i) text += "\xE2\x82\xAC";
  add_file("a.txt", text);
  for (const double cut : {0.95, 0.5, 0.123456, 0.98}) {
    options_.skip_fraction = 0;
    options_.take_fraction = cut;
    const std::string train = text_of(run().tokens);
    options_.skip_fraction = cut;
    options_.take_fraction = 1 - cut;
    const ReadBack validation = run();
    EXPECT_EQ(train + text_of(validation.tokens), text);
    EXPECT_EQ(train.size() % 3, 0U);
    EXPECT_NEAR(static_cast<double>(train.size()), cut * static_cast<double>(text.size()), 3);
    EXPECT_THAT(validation.documents, ElementsAre(0));
  }
}

TEST_F(PrepareTest, NeverCutsASeparatorWithAFraction) {
  add_file("a.txt", "aaaa<end>bbbb");
  options_.document_separator = "<end>";
  for (int percent = 8; percent < 100; percent += 3) {
    options_.skip_fraction = 0;
    options_.take_fraction = percent / 100.0;
    const auto taken = text_of(run().tokens);
    options_.skip_fraction = percent / 100.0;
    options_.take_fraction = 1 - options_.skip_fraction;
    if (taken == "aaaabbbb") continue;  // all of it: nothing is left to take
    ASSERT_EQ(taken + text_of(run().tokens), "aaaabbbb") << percent;
  }
}

TEST_F(PrepareTest, UsesThePartsOfAnInterruptedRunAgain) {
  add_file("a.txt", std::string(1000, 'x'));
  options_.piece_bytes = 100;
  std::vector<std::string> written;
  const auto watch = [&](std::size_t most) {
    io::set_fault_hook([&written, most](const char* call, const std::string& path, std::size_t*) {
      if (std::string(call) != "rename" || path.find("part_") == std::string::npos) return 0;
      if (written.size() == most) return 5;
      written.push_back(path);
      return 0;
    });
  };
  watch(4);
  EXPECT_THROW(prepare(*communicator_, options_), Error);
  EXPECT_EQ(written.size(), 4U);
  written.clear();
  watch(100);
  prepare(*communicator_, options_);
  io::set_fault_hook({});
  EXPECT_EQ(written.size(), 6U);
  EXPECT_EQ(text_of(read_back(options_.output).tokens), std::string(1000, 'x'));
}

TEST_F(PrepareTest, MakesPartsAnewWhenInputsChangedOrPartsAreDamaged) {
  const std::string input = add_file("a.txt", std::string(1000, 'x'));
  options_.piece_bytes = 100;
  const auto interrupt = [&] {
    io::set_fault_hook([](const char* call, const std::string& path, std::size_t*) {
      return std::string(call) == "rename" && path.find("whole") != std::string::npos ? 5 : 0;
    });
    EXPECT_THROW(prepare(*communicator_, options_), Error);
    io::set_fault_hook({});
  };
  interrupt();
  io::write_text_atomically(input, std::string(450, 'x') + std::string(550, 'y'));
  const std::string part = options_.output + ".parts/part_00002";
  std::string damaged = io::read_text(part);
  damaged.back() = 'z';
  io::write_text_atomically(part, damaged);
  const std::string part_of_wrong_count = options_.output + ".parts/part_00001";
  damaged = io::read_text(part_of_wrong_count);
  damaged[8] = static_cast<char>(damaged[8] + 1);  // its number of tokens
  io::write_text_atomically(part_of_wrong_count, damaged);
  prepare(*communicator_, options_);
  EXPECT_EQ(text_of(read_back(options_.output).tokens), io::read_text(input));
}

TEST_F(PrepareTest, RefusesToOverwrite) {
  add_file("a.txt", "text");
  run();
  EXPECT_THAT(refusal(), HasSubstr("`" + options_.output +
                                   "` exists already (nothing is overwritten) remove it or choose another name"));
}

TEST_F(PrepareTest, NamesAllThatIsWrongWithTheOptionsAtOnce) {
  options_.tokenizer = "sentencepiece";
  options_.skip_fraction = 0.5;
  options_.take_fraction = 0.6;
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("no input file"), HasSubstr("needs `--vocab N`"), HasSubstr("more than the whole")));
  options_ = {.output = folder_ / "absent/out.h5", .inputs = {"a"}, .tokenizer = "byte", .vocab = 300, .model = "m"};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("absent` does not exist"), HasSubstr("`--vocab 300` does not fit"),
                               HasSubstr("`--model` does not fit")));
  options_ = {.output = folder_ / "out.h5", .inputs = {"a"}, .tokenizer = "words"};
  EXPECT_THAT(refusal(), HasSubstr("unknown tokenizer `words`"));
}

TEST_F(PrepareTest, RefusesInputsThatAreMissingOrEmpty) {
  options_.inputs = {folder_ / "absent.txt"};
  EXPECT_THAT(refusal(), HasSubstr("absent.txt` does not exist"));
  options_.inputs = {folder_.path()};
  EXPECT_THAT(refusal(), HasSubstr("is a folder"));
  options_.inputs.clear();
  add_file("a.txt", "");
  EXPECT_THAT(refusal(), HasSubstr("a.txt` is empty"));
  options_.inputs.clear();
  add_file("b.txt", "----");
  options_.document_separator = "--";
  EXPECT_THAT(refusal(), HasSubstr("hold no token"));
  options_.inputs.clear();
  add_file("c.txt", "ab");
  options_.document_separator = "";
  options_.take_fraction = 0.1;
  options_.skip_fraction = 0.8;
  EXPECT_THAT(refusal(), HasSubstr("nothing is left of 2 bytes"));
}

TEST_F(PrepareTest, TakesReadyIdsOfAllKinds) {
  options_.tokenizer = "ids";
  test::write_npy<std::int64_t>(folder_ / "a.npy", "<i8", {5, 70000, 0});
  test::write_megatron(folder_ / "b", {2, 1, 3}, {0, 1});
  options_.inputs = {folder_ / "a.npy", folder_ / "b"};
  for (const std::int64_t bytes : {0, 1, 4, 8, 12, 20}) {
    options_.piece_bytes = bytes;
    const ReadBack out = run();
    EXPECT_THAT(out.tokens, ElementsAre(5, 70000, 0, 0, 1, 2, 3, 4, 5));
    EXPECT_THAT(out.documents, ElementsAre(0, 3, 5));
    EXPECT_EQ(out.info.vocab, 70001);
    EXPECT_EQ(out.info.tokenizer_kind, "ids");
    EXPECT_EQ(out.info.tokenizer_model, "70001");
  }
}

TEST_F(PrepareTest, StoresIdsInTheSmallestTypeThatHoldsTheVocabulary) {
  options_.tokenizer = "ids";
  test::write_npy<std::int32_t>(folder_ / "a.npy", "<i4", {5, 255, 0});
  options_.inputs = {folder_ / "a.npy"};
  const auto stored = [&](std::int64_t vocab) {
    options_.vocab = vocab;
    EXPECT_THAT(run().tokens, ElementsAre(5, 255, 0));
    return hdf5::Reader(options_.output).info("tokens").dtype;
  };
  EXPECT_EQ(stored(0), Dtype::u8);
  EXPECT_EQ(stored(256), Dtype::u8);
  EXPECT_EQ(stored(257), Dtype::u16);
  EXPECT_EQ(stored(65536), Dtype::u16);
  EXPECT_EQ(stored(65537), Dtype::i32);
}

TEST_F(PrepareTest, SplitsIdsByTheirNumber) {
  options_.tokenizer = "ids";
  test::write_npy<std::uint8_t>(folder_ / "a.npy", "|u1", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  options_.inputs = {folder_ / "a.npy"};
  options_.take_fraction = 0.7;
  EXPECT_THAT(run().tokens, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  options_.skip_fraction = 0.7;
  options_.take_fraction = 0.3;
  const ReadBack rest = run();
  EXPECT_THAT(rest.tokens, ElementsAre(7, 8, 9));
  EXPECT_THAT(rest.documents, ElementsAre(0));
}

TEST_F(PrepareTest, NamesAnIdOutOfRange) {
  options_.tokenizer = "ids";
  options_.piece_bytes = 8;
  test::write_npy<std::int32_t>(folder_ / "a.npy", "<i4", {5, 6, 7, 10});
  options_.inputs = {folder_ / "a.npy"};
  options_.vocab = 10;
  EXPECT_THAT(refusal(), HasSubstr("id 3 of `" + (folder_ / "a.npy") + "` is `10` (must be 0 ... 9)"));
  options_.vocab = 0;
  test::write_npy<std::int32_t>(folder_ / "a.npy", "<i4", {5, -1, 7});
  EXPECT_THAT(refusal(), HasSubstr("id 1 of"));
  test::write_npy<std::int64_t>(folder_ / "a.npy", "<i8", {5, std::int64_t{1} << 31});
  EXPECT_THAT(refusal(), HasSubstr("is `2147483648`"));
}

TEST_F(PrepareTest, TakesALossMask) {
  add_file("a.txt", "abcde");
  options_.mask = folder_ / "mask.npy";
  test::write_npy<std::uint8_t>(options_.mask, "|u1", {1, 0, 0, 1, 1});
  const ReadBack out = run();
  EXPECT_TRUE(out.info.has_loss_mask);
  EXPECT_THAT(out.mask, ElementsAre(1, 0, 0, 1, 1));
  io::remove_file(options_.output);
  test::write_npy<std::uint8_t>(options_.mask, "|u1", {1, 0, 0, 1});
  EXPECT_THAT(refusal(), HasSubstr("has 4 numbers (there are 5 tokens)"));
  test::write_npy<std::uint8_t>(options_.mask, "|u1", {1, 0, 0, 1, 2});
  EXPECT_THAT(refusal(), HasSubstr("position 4: `2` is neither 0 nor 1"));
  test::write_npy<std::uint16_t>(options_.mask, "<u2", {1, 0, 0, 1, 1});
  EXPECT_THAT(refusal(), HasSubstr("must be uint8"));
}

}  // namespace
}  // namespace trireme::data
