#include "trireme/data/token_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/hdf5/file.hpp"
#include "trireme/io/file.hpp"

#include "unit/data/datasets.hpp"
#include "unit/io/temporary_folder.hpp"

#ifdef TRIREME_H5PY
#define WITH_H5PY(name) name
#else
#define WITH_H5PY(name) DISABLED_##name
#define TRIREME_H5PY "python3"
#endif

namespace trireme::data {
namespace {

using test::Content;
using test::counting;
using test::message_of;
using test::write_dataset;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class TokenFileTest : public testing::Test {
 protected:
  ~TokenFileTest() override { EXPECT_EQ(hdf5::open_objects(), 0); }

  std::string message_of_opening() {
    return message_of([&] { (void)TokenFile(path_); });
  }

  /// Writes with the raw HDF5 writer what DatasetWriter would refuse to write.
  template <class T>
  void write_by_hand(std::int64_t vocab, const std::vector<T>& tokens, const std::vector<std::int64_t>& documents) {
    hdf5::Writer writer(path_);
    add_row(writer, "tokens", tokens);
    add_row(writer, "documents", documents);
    writer.attribute("/", "format", "trireme dataset");
    writer.attribute("/", "version", std::int64_t{1});
    writer.attribute("/", "vocab", vocab);
    writer.attribute("/", "num_tokens", static_cast<std::int64_t>(tokens.size()));
    writer.attribute("/", "num_documents", static_cast<std::int64_t>(documents.size()));
    writer.attribute("/", "tokenizer", "byte");
    writer.attribute("/", "sequence_starts", std::int64_t{1});
    writer.finish();
  }

  template <class T>
  static void add_row(hdf5::Writer& writer, const std::string& name, const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    const io::Hash128 hash = io::hash128(values.data(), bytes);
    const std::uint64_t words[2] = {hash.low, hash.high};
    writer.create(name, {values.size()}, dtype_of<T>);
    writer.write(name, values.data());
    writer.create(name + "_hashes", {1, 2}, Dtype::u64);
    writer.write(name + "_hashes", words);
    writer.attribute("/", name + "_hash", io::hash128(words, sizeof(words)).text());
  }

  std::vector<std::int32_t> tokens(std::int64_t begin, std::int64_t num) {
    std::vector<std::int32_t> read(static_cast<std::size_t>(num));
    TokenFile(path_).read_tokens(begin, read);
    return read;
  }

  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "data.h5";
};

TEST_F(TokenFileTest, TellsWhatItHolds) {
  write_dataset(path_, {.tokens = counting(10), .documents = {0, 4}, .sequence_starts = true});
  const TokenFile file(path_);
  EXPECT_EQ(file.info().path, path_);
  EXPECT_EQ(file.info().num_tokens, 10);
  EXPECT_EQ(file.info().vocab, 65536);
  EXPECT_EQ(file.info().num_documents, 2);
  EXPECT_FALSE(file.info().has_loss_mask);
  EXPECT_TRUE(file.info().has_sequence_starts);
  EXPECT_EQ(file.info().tokenizer_kind, "ids");
  EXPECT_EQ(file.info().tokenizer_model, "65536");
}

TEST_F(TokenFileTest, ReadsAnyRangeAcrossHashBlocks) {
  const std::int64_t num = 3 * (1 << 19) + 77;  // uint16: three whole blocks and a short one
  Content content{.tokens = counting(num)};
  write_dataset(path_, content);
  const TokenFile file(path_);
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const auto begin = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(num));
    const auto size = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(num - begin + 1));
    std::vector<std::int32_t> read(static_cast<std::size_t>(size));
    file.read_tokens(begin, read);
    for (std::int64_t i = 0; i < size; i += 101) {
      ASSERT_EQ(read[static_cast<std::size_t>(i)], content.tokens[static_cast<std::size_t>(begin + i)]);
    }
  }
  EXPECT_THAT(tokens(num - 1, 1), ElementsAre(static_cast<std::int32_t>((num - 1) % 65536)));
}

TEST_F(TokenFileTest, ReadsTheLossMaskOrOnes) {
  write_dataset(path_, {.tokens = counting(5), .loss_mask = {1, 0, 0, 1, 1}});
  std::vector<std::uint8_t> mask(3);
  TokenFile(path_).read_loss_mask(1, mask);
  EXPECT_THAT(mask, ElementsAre(0, 0, 1));
  write_dataset(path_, {.tokens = counting(5)});
  TokenFile(path_).read_loss_mask(1, mask);
  EXPECT_THAT(mask, Each(1));
}

TEST_F(TokenFileTest, ReadsWhereDocumentsStart) {
  write_dataset(path_, {.tokens = counting(12), .documents = {0, 1, 5, 6, 11}, .sequence_starts = true});
  const TokenFile file(path_);
  std::vector<std::int64_t> starts(12);
  file.read_starts(0, starts);
  EXPECT_THAT(starts, ElementsAre(0, 1, 1, 1, 1, 5, 6, 6, 6, 6, 6, 11));
  starts.resize(5);
  file.read_starts(3, starts);
  EXPECT_THAT(starts, ElementsAre(3, 3, 5, 6, 6));
}

TEST_F(TokenFileTest, StartsEverythingAtTheRangeWithoutSequenceStarts) {
  write_dataset(path_, {.tokens = counting(12), .documents = {0, 5}});
  std::vector<std::int64_t> starts(4);
  TokenFile(path_).read_starts(3, starts);
  EXPECT_THAT(starts, Each(3));
}

TEST_F(TokenFileTest, FindsAFlippedBitWhereverItIs) {
  Content content{.tokens = counting(3000), .documents = {0, 100}, .loss_mask = std::vector<std::uint8_t>(3000, 1)};
  content.sequence_starts = true;
  write_dataset(path_, content);
  const std::string whole = io::read_text(path_);
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::string flipped = whole;
    flipped[random() % whole.size()] ^= static_cast<char>(1 << (random() % 8));
    std::ofstream(path_, std::ios::binary) << flipped;
    try {
      const TokenFile file(path_);
      std::vector<std::int32_t> read(3000);
      std::vector<std::uint8_t> mask(3000);
      std::vector<std::int64_t> starts(3000);
      file.read_tokens(0, read);
      file.read_loss_mask(0, mask);
      file.read_starts(0, starts);
      // Bytes between the datasets belong to nothing; what is read must be right all the same.
      ASSERT_EQ(std::vector<std::uint16_t>(read.begin(), read.end()), content.tokens);
      ASSERT_EQ(mask, content.loss_mask);
      ASSERT_EQ(starts[2999], 100);
    } catch (const InputError&) {
    }
  }
}

TEST_F(TokenFileTest, NamesTheDamagedBlockOfTokens) {
  const std::int64_t num = 2 * (1 << 19);
  write_dataset(path_, {.tokens = std::vector<std::uint16_t>(static_cast<std::size_t>(num), 7)});
  const std::uint64_t offset = hdf5::Reader(path_).info("tokens").offset;
  {
    io::File file(path_, io::File::Mode::read_write);
    const char zero = 0;
    file.write_at(offset + (1 << 20) + 12, &zero, 1);
  }
  EXPECT_EQ(tokens(0, 100).size(), 100U);
  EXPECT_THAT(message_of([&] { (void)tokens(num - 1, 1); }),
              AllOf(HasSubstr("`tokens`"), HasSubstr(path_), HasSubstr("between positions 524288 and 1048575")));
}

TEST_F(TokenFileTest, RefusesACutFile) {
  write_dataset(path_, {.tokens = counting(3000)});
  const std::string whole = io::read_text(path_);
  for (const std::size_t bytes :
       {whole.size() - 1, whole.size() / 2, std::size_t{513}, std::size_t{100}, std::size_t{0}}) {
    io::write_text_atomically(path_, whole.substr(0, bytes));
    EXPECT_THAT(message_of_opening(), HasSubstr(path_)) << bytes;
  }
}

TEST_F(TokenFileTest, RefusesAFileThatIsCutWhileItIsRead) {
  write_dataset(path_, {.tokens = counting(3000)});
  const TokenFile file(path_);
  std::filesystem::resize_file(path_, 1000);
  std::vector<std::int32_t> read(3000);
  EXPECT_THAT(message_of([&] { file.read_tokens(0, read); }), HasSubstr(path_));
}

TEST_F(TokenFileTest, RefusesFilesThatAreNone) {
  EXPECT_THAT(message_of_opening(), HasSubstr("does not exist"));
  io::write_text_atomically(path_, "plain text");
  EXPECT_THAT(message_of_opening(),
              AllOf(HasSubstr("is not a Trireme dataset"), HasSubstr("make one with `trireme prepare`")));
  { hdf5::Writer(path_).finish(); }
  EXPECT_THAT(message_of_opening(), HasSubstr("is not a Trireme dataset"));
  path_ = folder_.path();
  EXPECT_THAT(message_of_opening(), HasSubstr("is a folder"));
}

TEST_F(TokenFileTest, RefusesTokensOfAnotherType) {
  write_by_hand<float>(256, {1, 2, 3}, {0});
  EXPECT_THAT(message_of_opening(), AllOf(HasSubstr("`tokens`"), HasSubstr("holds `fp32` (must be `uint8`)")));
  write_by_hand<std::int32_t>(256, {1, 2, 3}, {0});
  EXPECT_THAT(message_of_opening(), HasSubstr("holds `int32` (must be `uint8`)"));
}

TEST_F(TokenFileTest, NamesATokenOutsideOfTheVocabulary) {
  write_by_hand<std::uint8_t>(97, {1, 96, 3, 97, 2}, {0});
  EXPECT_THAT(tokens(0, 3), ElementsAre(1, 96, 3));
  EXPECT_THAT(message_of([&] { (void)tokens(2, 3); }),
              AllOf(HasSubstr("`tokens`"), HasSubstr("position 3: `97`"), HasSubstr("the vocabulary is 97")));
  write_by_hand<std::int32_t>(100000, {1, -5}, {0});
  EXPECT_THAT(message_of([&] { (void)tokens(0, 2); }), HasSubstr("position 1: `-5`"));
}

TEST_F(TokenFileTest, NamesDocumentsThatDoNotAscend) {
  const std::vector<std::uint8_t> ten(10, 1);
  write_by_hand(256, ten, {0, 4, 4});
  EXPECT_THAT(message_of_opening(),
              AllOf(HasSubstr("`documents`"), HasSubstr("position 2: `4` does not ascend (after `4`)")));
  write_by_hand(256, ten, {1, 4});
  EXPECT_THAT(message_of_opening(), HasSubstr("position 0: `1` is not 0"));
  write_by_hand(256, ten, {0, 10});
  EXPECT_THAT(message_of_opening(), HasSubstr("position 1: `10` is past the end (there are 10 tokens)"));
  write_by_hand(256, ten, {0, -3});
  EXPECT_THAT(message_of_opening(), HasSubstr("position 1: `-3` does not ascend"));
}

TEST_F(TokenFileTest, RefusesALossMaskOfAnotherLengthOrType) {
  const auto write = [&](const auto& mask) {
    hdf5::Writer writer(path_);
    add_row(writer, "tokens", std::vector<std::uint8_t>{1, 2, 3});
    add_row(writer, "documents", std::vector<std::int64_t>{0});
    add_row(writer, "loss_mask", mask);
    writer.attribute("/", "format", "trireme dataset");
    writer.attribute("/", "tokenizer", "byte");
    for (const auto& [name, value] :
         {std::pair{"version", 1}, {"vocab", 256}, {"num_tokens", 3}, {"num_documents", 1}, {"sequence_starts", 0}}) {
      writer.attribute("/", name, std::int64_t{value});
    }
    writer.finish();
  };
  write(std::vector<std::uint8_t>{1, 1});
  EXPECT_THAT(message_of_opening(), AllOf(HasSubstr("`loss_mask`"), HasSubstr("has 2 elements")));
  write(std::vector<float>{1, 1, 1});
  EXPECT_THAT(message_of_opening(), HasSubstr("holds `fp32` (must be `uint8`)"));
  write(std::vector<std::uint8_t>{1, 0, 7});
  std::vector<std::uint8_t> mask(3);
  EXPECT_THAT(message_of([&] { TokenFile(path_).read_loss_mask(0, mask); }),
              AllOf(HasSubstr("`loss_mask`"), HasSubstr("position 2: `7`")));
}

TEST_F(TokenFileTest, RefusesAMissingDatasetAndANewerVersion) {
  const auto write = [&](std::int64_t version) {
    hdf5::Writer writer(path_);
    add_row(writer, "documents", std::vector<std::int64_t>{0});
    writer.attribute("/", "format", "trireme dataset");
    writer.attribute("/", "tokenizer", "byte");
    writer.attribute("/", "version", version);
    for (const char* name : {"vocab", "num_tokens", "num_documents", "sequence_starts"}) {
      writer.attribute("/", name, std::int64_t{1});
    }
    writer.finish();
  };
  write(1);
  EXPECT_THAT(message_of_opening(), HasSubstr("has no dataset `tokens`"));
  write(2);
  EXPECT_THAT(message_of_opening(), HasSubstr("of version 2 (this program reads version 1)"));
}

TEST_F(TokenFileTest, WITH_H5PY(OpensInH5py)) {
  write_dataset(path_,
                {.tokens = counting(1000), .documents = {0, 10}, .loss_mask = std::vector<std::uint8_t>(1000, 1)});
  const std::string script = fmt::format(
      "import h5py; f = h5py.File('{}'); assert list(f['tokens'][5:8]) == [5, 6, 7] and f['tokens'].dtype == 'uint16'; "
      "assert list(f['documents']) == [0, 10] and f['loss_mask'].shape == (1000,); "
      "assert f.attrs['num_tokens'] == 1000 and f['tokenizer_model'][...].tobytes() == b'65536'",
      path_);
  EXPECT_EQ(std::system(fmt::format("{} -c \"{}\"", TRIREME_H5PY, script).c_str()), 0);
}

}  // namespace
}  // namespace trireme::data
