#include "data/prepare/ids_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/data/datasets.hpp"
#include "unit/data/ids_files.hpp"
#include "unit/io/temporary_folder.hpp"

namespace trireme::data {
namespace {

using test::bytes_of;
using test::message_of;
using test::npy;
using test::write_npy;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NpyTest : public testing::Test {
 protected:
  std::string refusal(const std::string& file) {
    io::write_text_atomically(path_, file);
    return message_of([&] { (void)open_npy(path_); });
  }
  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "ids.npy";
};

TEST_F(NpyTest, ReadsAllLegalTypes) {
  write_npy<std::uint8_t>(path_, "|u1", {1, 2, 3});
  EXPECT_EQ(open_npy(path_)->type().bytes, 1);
  write_npy<std::uint16_t>(path_, "<u2", {1, 2, 3});
  EXPECT_EQ(open_npy(path_)->type().bytes, 2);
  write_npy<std::uint32_t>(path_, "<u4", {1, 2, 3});
  EXPECT_FALSE(open_npy(path_)->type().is_signed);
  write_npy<std::int32_t>(path_, "<i4", {1, 2, 3});
  EXPECT_TRUE(open_npy(path_)->type().is_signed);
  write_npy<std::int64_t>(path_, "<i8", {1, 2, 3});
  const auto input = open_npy(path_);
  EXPECT_EQ(input->num_ids(), 3);
  EXPECT_EQ(input->read({1, 3}), bytes_of(std::vector<std::int64_t>{2, 3}));
  EXPECT_THAT(input->document_starts({0, 3}), ElementsAre(0));
  EXPECT_THAT(input->document_starts({1, 3}), IsEmpty());
}

TEST_F(NpyTest, ReadsTheLongHeadersOfVersionsTwoAndThree) {
  const std::string dictionary = "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }\n";
  for (const char version : {'\x02', '\x03'}) {
    std::string file = "\x93NUMPY";
    file += version;
    file += '\0';
    file += test::bytes_of_one(static_cast<std::uint32_t>(dictionary.size())) + dictionary;
    io::write_text_atomically(path_, file + bytes_of(std::vector<std::uint16_t>{7, 8}));
    EXPECT_EQ(open_npy(path_)->read({0, 2}), bytes_of(std::vector<std::uint16_t>{7, 8}));
  }
}

TEST_F(NpyTest, RefusesWhatIsNoRowOfIntegers) {
  const auto header = [](const std::string& type, const std::string& shape) {
    return npy("{'descr': " + type + ", 'fortran_order': False, 'shape': " + shape + ", }", std::string(64, '\1'));
  };
  EXPECT_THAT(refusal(header("'<f4'", "(3,)")), AllOf(HasSubstr(path_), HasSubstr("holds `<f4`")));
  EXPECT_THAT(refusal(header("'>u2'", "(3,)")), HasSubstr("holds `>u2`"));
  EXPECT_THAT(refusal(header("[('a', '<u2')]", "(3,)")), HasSubstr("holds `"));
  EXPECT_THAT(refusal(header("'<u2'", "(3, 4)")), HasSubstr("has the shape `(3, 4)` (must be 1-D)"));
  EXPECT_THAT(refusal(header("'<u2'", "()")), HasSubstr("has the shape `()`"));
  EXPECT_THAT(refusal(header("'<u2'", "(-3,)")), HasSubstr("has the shape"));
  EXPECT_THAT(refusal(header("'<u2'", "(99999999999999999999,)")), HasSubstr("has the shape"));
  EXPECT_THAT(refusal(header("'<u2'", "(33,)")),
              HasSubstr("is cut short (its header says 33 numbers of 2 bytes, 64 bytes follow)"));
  EXPECT_THAT(refusal(header("'<i8'", "(9223372036854775807,)")), HasSubstr("is cut short"));
}

TEST_F(NpyTest, RefusesADamagedHeader) {
  EXPECT_THAT(refusal(""), HasSubstr("is no .npy file"));
  EXPECT_THAT(refusal("plain text, not an array"), HasSubstr("is no .npy file"));
  EXPECT_THAT(refusal(npy("{'shape': (3,)}", "abcdef")), HasSubstr("has a strange header (no `descr` in it)"));
  EXPECT_THAT(refusal(npy("{'descr': '<u2', 'shape': (3", "abcdef")),
              HasSubstr("has a strange header (no `shape` in it)"));
  EXPECT_THAT(refusal(npy("{'descr': '<u2'", "").substr(0, 20)), HasSubstr("ends inside of its header"));
  EXPECT_THAT(refusal(std::string("\x93NUMPY\x09\x00\x05\x00     ", 15)), HasSubstr("of version 9"));
}

class MegatronTest : public testing::Test {
 protected:
  std::string refusal(const test::MegatronIndex& index) {
    io::write_text_atomically(prefix_ + ".idx", index.bytes());
    return message_of([&] {
      const auto input = open_megatron(prefix_);
      (void)input->document_starts({0, input->num_ids()});
    });
  }
  test::TemporaryFolder folder_;
  std::string prefix_ = folder_ / "corpus";
};

TEST_F(MegatronTest, ReadsIdsAndDocumentsOfAnyRange) {
  test::write_megatron(prefix_, {3, 2, 4, 1}, {0, 2, 3});
  for (const char* suffix : {"", ".bin", ".idx"}) {
    const auto input = open_megatron(prefix_ + suffix);
    EXPECT_EQ(input->num_ids(), 10);
    EXPECT_EQ(input->read({8, 10}), bytes_of(std::vector<std::uint16_t>{8, 9}));
    EXPECT_THAT(input->document_starts({0, 10}), ElementsAre(0, 5, 9));
    EXPECT_THAT(input->document_starts({1, 6}), ElementsAre(5));
    EXPECT_THAT(input->document_starts({5, 9}), ElementsAre(5));
    EXPECT_THAT(input->document_starts({6, 9}), IsEmpty());
  }
}

TEST_F(MegatronTest, LeavesNoTraceOfEmptyDocumentsAndSequences) {
  test::write_megatron(prefix_, {0, 3, 0, 0, 2, 0}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(open_megatron(prefix_)->document_starts({0, 5}), ElementsAre(0, 3));
}

TEST_F(MegatronTest, FindsTheSameDocumentsInEveryCut) {
  test::write_megatron(prefix_, {3, 2, 0, 4, 1, 7, 1}, {0, 2, 3, 5, 6});
  const auto input = open_megatron(prefix_);
  for (std::int64_t cut = 0; cut <= 18; ++cut) {
    std::vector<std::int64_t> starts = input->document_starts({0, cut});
    const std::vector<std::int64_t> rest = input->document_starts({cut, 18});
    starts.insert(starts.end(), rest.begin(), rest.end());
    EXPECT_THAT(starts, ElementsAre(0, 5, 10, 17)) << cut;
  }
}

TEST_F(MegatronTest, RefusesAnIndexThatDoesNotFit) {
  const test::MegatronIndex good = test::write_megatron(prefix_, {3, 2, 4, 1}, {0, 2, 3});
  test::MegatronIndex index = good;
  index.version = 2;
  EXPECT_THAT(refusal(index), HasSubstr("is an index of version 2"));
  index = good;
  index.type = 6;
  EXPECT_THAT(refusal(index), HasSubstr("has the type code `6`"));
  index = good;
  index.lengths[3] = 2;
  EXPECT_THAT(refusal(index), HasSubstr("ends at byte 22"));
  index = good;
  index.lengths[1] = -2;
  EXPECT_THAT(refusal(index), HasSubstr("is not contiguous (sequence 1 of -2 ids"));
  index = good;
  index.pointers[2] = 12;
  EXPECT_THAT(refusal(index), HasSubstr("is not contiguous"));
  index = good;
  index.pointers[3] = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(refusal(index), HasSubstr("ends at byte"));
  index = good;
  index.documents = {0, 3, 2, 4};
  EXPECT_THAT(refusal(index), HasSubstr("document 2 begins with sequence 2"));
  index = good;
  index.documents = {4, 3, 2, 0};
  EXPECT_THAT(refusal(index), HasSubstr("document 0 begins with sequence 4 (must be 0)"));
  index = good;
  index.pointers.pop_back();
  EXPECT_THAT(refusal(index), HasSubstr("not those of the 4 sequences and 4 borders"));
  io::write_text_atomically(prefix_ + ".idx", "something else that is long enough for a head");
  EXPECT_THAT(message_of([&] { (void)open_megatron(prefix_); }), HasSubstr("is no index"));
  io::write_text_atomically(prefix_ + ".idx", "");
  EXPECT_THAT(message_of([&] { (void)open_megatron(prefix_); }), HasSubstr("is no index"));
}

TEST(OpenIds, RefusesFilesOfOtherKinds) {
  EXPECT_THAT(message_of([] { (void)open_ids("corpus.txt"); }), HasSubstr("`corpus.txt` holds no ready ids"));
  EXPECT_THAT(message_of([] { (void)open_ids("absent.npy"); }), HasSubstr("does not exist"));
}

}  // namespace
}  // namespace trireme::data
