#include "trireme/hdf5/file.hpp"

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/io/file.hpp"

#include "unit/io/temporary_folder.hpp"

namespace trireme::hdf5 {
namespace {

using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Dtype all_dtypes[] = {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16, Dtype::i32,
                                Dtype::i64, Dtype::u8,  Dtype::u16,  Dtype::u64};

std::vector<unsigned char> pattern(std::size_t bytes, unsigned seed = 7) {
  std::vector<unsigned char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    data[i] = static_cast<unsigned char>((i * 131 + seed) % 251);
  }
  return data;
}

template <class Act>
std::string refusal(Act&& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

class Hdf5File : public testing::Test {
 protected:
  ~Hdf5File() override { EXPECT_EQ(open_objects(), 0); }
  TemporaryFolder folder_;
  std::string path_ = folder_ / "a.h5";
};

TEST_F(Hdf5File, EveryDtypeComesBackBitForBit) {
  const Extents extents = {3, 5, 7};
  Writer writer(path_);
  for (const Dtype dtype : all_dtypes) {
    const std::string name = "/all/" + std::string(name_of(dtype));
    writer.create(name, extents, dtype);
    writer.write(name, pattern(105 * size_of(dtype)).data());
  }
  writer.finish();
  const Reader reader(path_);
  for (const Dtype dtype : all_dtypes) {
    const std::string name = "/all/" + std::string(name_of(dtype));
    const DatasetInfo info = reader.info(name);
    EXPECT_EQ(info.extents, extents);
    EXPECT_EQ(info.dtype, dtype) << name;
    EXPECT_THAT(info.chunk, IsEmpty());
    std::vector<unsigned char> read(105 * size_of(dtype));
    reader.read(name, dtype, read.data());
    EXPECT_EQ(read, pattern(read.size())) << name;
  }
}

TEST_F(Hdf5File, ContiguousDataLiesAlignedWhereInfoSays) {
  Writer writer(path_);
  writer.write_bytes("/odd", "odd");
  writer.create("/w", {11, 3}, Dtype::f32);
  writer.create("/never_written", {1000}, Dtype::f64);
  writer.write("/w", pattern(132).data());
  const Finished finished = writer.finish();
  const Reader reader(path_);
  const std::uint64_t offset = reader.info("/w").offset;
  EXPECT_GE(offset, 512U);
  EXPECT_EQ(offset % 64, 0U);
  std::vector<unsigned char> read(132);
  const io::File file(path_, io::File::Mode::read);
  file.read_at(offset, read.data(), read.size());
  EXPECT_EQ(read, pattern(132));
  EXPECT_EQ(file.size(), finished.bytes);
  EXPECT_EQ(reader.metadata_hash(), finished.metadata_hash);
}

TEST_F(Hdf5File, RangesAreWrittenInAnyOrderAndRectanglesRead) {
  Writer writer(path_);
  writer.create("/tokens", {100}, Dtype::i32);
  std::vector<std::int32_t> values(100);
  std::iota(values.begin(), values.end(), 0);
  writer.write_range("/tokens", 60, 40, values.data() + 60);
  writer.write_range("/tokens", 0, 60, values.data());
  writer.write_range("/tokens", 100, 0, nullptr);
  writer.create("/matrix", {10, 10}, Dtype::i32);
  writer.write("/matrix", values.data());
  writer.finish();
  const Reader reader(path_);
  std::vector<std::int32_t> read(100);
  reader.read("/tokens", Dtype::i32, read.data());
  EXPECT_EQ(read, values);
  read.assign(6, -1);
  reader.read_rectangle("/matrix", Dtype::i32, {2, 7}, {2, 3}, read.data());
  EXPECT_THAT(read, ElementsAre(27, 28, 29, 37, 38, 39));
  reader.read_rectangle("/matrix", Dtype::i32, {10, 0}, {0, 10}, nullptr);
  for (const Extents& offset : {Extents{9, 0}, Extents{0, 8}, Extents{~0ULL, 0}, Extents{0}}) {
    EXPECT_THAT(refusal([&] {
                  reader.read_rectangle("/matrix", Dtype::i32, offset, {2, 3}, read.data());
                }),
                HasSubstr("`/matrix` in `" + path_ + "` has the shape [10, 10] (wanted [2, 3] elements from ["));
  }
}

TEST_F(Hdf5File, ChunksAreWrittenAndReadWholeWithPaddedEdges) {
  Writer writer(path_);
  writer.create("/t", {5, 7}, Dtype::f32, {2, 4});
  for (const std::uint64_t row : {0, 2, 4}) {
    for (const std::uint64_t column : {0, 4}) {
      if (row != 4 || column != 4) {
        writer.write_chunk("/t", {row, column}, pattern(32, static_cast<unsigned>(row + column)).data(), 32);
      }
    }
  }
  writer.finish();
  const Reader reader(path_);
  EXPECT_THAT(reader.info("/t").chunk, ElementsAre(2, 4));
  std::vector<unsigned char> read(32);
  for (const std::uint64_t row : {0, 2, 4}) {
    reader.read_chunk("/t", {row, 0}, read.data(), 32);
    EXPECT_EQ(read, pattern(32, static_cast<unsigned>(row)));
  }
  EXPECT_THAT(refusal([&] {
                reader.read_chunk("/t", {4, 4}, read.data(), 32);
              }),
              HasSubstr("cannot read the chunk at [4, 4] of `/t`"));
  for (const Extents& offset : {Extents{1, 0}, Extents{0, 3}, Extents{6, 0}, Extents{0, 8}, Extents{0}}) {
    EXPECT_THAT(refusal([&] { reader.read_chunk("/t", offset, read.data(), 32); }), HasSubstr("its chunks are [2, 4]"));
  }
  EXPECT_THAT(refusal([&] { reader.read_chunk("/t", {0, 0}, read.data(), 31); }), HasSubstr("wanted 31 bytes"));
}

TEST_F(Hdf5File, EmptyAndScalarDatasetsAreDatasetsToo) {
  Writer writer(path_);
  for (const Extents& chunk : {Extents{}, Extents{2, 2}}) {
    const std::string name = chunk.empty() ? "/contiguous" : "/chunked";
    writer.create(name, {4, 0}, Dtype::f32, chunk);
    writer.write(name, nullptr);
  }
  writer.create("/scalar", {}, Dtype::i64);
  const std::int64_t value = -7;
  writer.write("/scalar", &value);
  writer.write_bytes("/no_bytes", "");
  writer.finish();
  const Reader reader(path_);
  for (const char* name : {"/contiguous", "/chunked"}) {
    EXPECT_THAT(reader.info(name).extents, ElementsAre(4, 0));
    reader.read(name, Dtype::f32, nullptr);
  }
  std::int64_t read = 0;
  reader.read("/scalar", Dtype::i64, &read);
  EXPECT_EQ(read, -7);
  reader.read_rectangle("/scalar", Dtype::i64, {}, {}, &read);
  EXPECT_EQ(reader.read_bytes("/no_bytes"), "");
}

TEST_F(Hdf5File, AttributesKeepTextNumbersAndEveryBit) {
  const std::string long_text(32 * 1024, 'x');
  const std::string deck = "[run]\nname = \"größer\"\n";
  Writer writer(path_);
  writer.make_group("/weights");
  writer.create("/weights/w", {2}, Dtype::f32);
  writer.attribute("/", "deck", deck);
  writer.attribute("/", "empty", std::string());
  writer.attribute("/new/group", "long", long_text);
  writer.attribute("/weights/w", "step", std::numeric_limits<std::int64_t>::min());
  writer.attribute("/weights/w", "scale", std::nextafter(0.1, 1.0));
  for (int i = 0; i < 40; ++i) {
    writer.attribute("/weights", "many" + std::to_string(i), std::int64_t{i});
  }
  writer.finish();
  const Reader reader(path_);
  EXPECT_EQ(reader.text_attribute("/", "deck"), deck);
  EXPECT_EQ(reader.text_attribute("/", "empty"), "");
  EXPECT_EQ(reader.text_attribute("/new/group", "long"), long_text);
  EXPECT_EQ(reader.integer_attribute("/weights/w", "step"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(reader.real_attribute("/weights/w", "scale"), std::nextafter(0.1, 1.0));
  EXPECT_EQ(reader.integer_attribute("/weights", "many39"), 39);
  EXPECT_TRUE(reader.has_attribute("/", "deck"));
  EXPECT_FALSE(reader.has_attribute("/", "dek"));
  EXPECT_THAT(refusal([&] { static_cast<void>(reader.text_attribute("/", "dek")); }),
              HasSubstr("`/` in `" + path_ + "` has no attribute `dek`"));
  EXPECT_THAT(refusal([&] { static_cast<void>(reader.integer_attribute("/", "deck")); }),
              AllOf(HasSubstr("has the type string"), HasSubstr("wanted one integer")));
  EXPECT_THAT(refusal([&] { static_cast<void>(reader.real_attribute("/weights/w", "step")); }),
              HasSubstr("type 8-byte integer"));
}

TEST_F(Hdf5File, NamesAreListedInOrderHoweverManyThereAre) {
  Writer writer(path_);
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) {
    names.push_back("block" + std::to_string(1000 + (i * 7) % 300));
    writer.create("/weights/" + names.back() + "/w", {3}, Dtype::f32);
    writer.write("/weights/" + names.back() + "/w", pattern(12, static_cast<unsigned>(i)).data());
  }
  writer.write_bytes("/z", std::string(100'000, 'z'));
  writer.finish();
  std::sort(names.begin(), names.end());
  const Reader reader(path_);
  EXPECT_THAT(reader.list("/"), ElementsAre("weights", "z"));
  EXPECT_EQ(reader.list("/weights"), names);
  const auto datasets = reader.datasets("/");
  ASSERT_EQ(datasets.size(), 301U);
  EXPECT_EQ(datasets[0], "/weights/block1000/w");
  EXPECT_EQ(datasets[300], "/z");
  EXPECT_THAT(reader.datasets("/weights/block1005"), ElementsAre("/weights/block1005/w"));
  EXPECT_TRUE(reader.has("/weights/block1299/w"));
  EXPECT_FALSE(reader.has("/weights/block1300/w"));
  EXPECT_FALSE(reader.has("/z/below"));
  EXPECT_EQ(reader.read_bytes("/z"), std::string(100'000, 'z'));
}

TEST_F(Hdf5File, WhatIsNotThereOrOfAnotherKindIsRefusedByName) {
  Writer writer(path_);
  writer.create("/g/w", {2}, Dtype::f32);
  writer.finish();
  const Reader reader(path_);
  float values[2];
  EXPECT_EQ(refusal([&] { reader.read("/g/v", Dtype::f32, values); }), "`" + path_ + "` has no `/g/v`");
  EXPECT_EQ(refusal([&] { reader.read("/g", Dtype::f32, values); }), "`/g` in `" + path_ + "` is not a dataset");
  EXPECT_EQ(refusal([&] { static_cast<void>(reader.list("/g/w")); }), "`/g/w` in `" + path_ + "` is not a group");
  EXPECT_EQ(refusal([&] { reader.read("/g/w", Dtype::bf16, values); }),
            "`/g/w` in `" + path_ + "` has the type fp32 (wanted bf16)");
  EXPECT_THAT(refusal([&] { static_cast<void>(reader.read_bytes("/g/w")); }),
              HasSubstr("is [2] of fp32 (wanted bytes"));
  EXPECT_THAT(refusal([&] { Reader(folder_ / "missing.h5"); }), HasSubstr("missing.h5` (No such file"));
}

TEST_F(Hdf5File, AMistakeOfTheWriterQuotesTheLibrary) {
  Writer writer(path_);
  writer.create("/w", {2}, Dtype::f32);
  try {
    writer.create("/w", {2}, Dtype::f32);
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cannot create the dataset `/w` in `" + path_), HasSubstr("HDF5: "),
                                    HasSubstr("already exists")));
  }
}

TEST_F(Hdf5File, EqualContentsMakeEqualFilesWhateverTheClock) {
  std::vector<Finished> finished;
  for (const char* name : {"a.h5", "b.h5"}) {
    Writer writer(folder_ / name);
    writer.attribute("/", "step", std::int64_t{1});
    writer.create("/g/h/w", {33}, Dtype::bf16);
    writer.write("/g/h/w", pattern(66).data());
    writer.create("/g/t", {9}, Dtype::f32, {4});
    writer.write_chunk("/g/t", {4}, pattern(16).data(), 16);
    writer.create_virtual("/v", {33}, Dtype::bf16, {{"x.h5", "/g/h/w", {0}, {33}}});
    finished.push_back(writer.finish());
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5's time stamps count seconds
  }
  EXPECT_EQ(io::read_text(folder_ / "a.h5"), io::read_text(folder_ / "b.h5"));
  EXPECT_EQ(finished[0].metadata_hash, finished[1].metadata_hash);
}

TEST_F(Hdf5File, SeveralWritersAndReadersMayBeOpenAtOnce) {
  Writer one(path_);
  Writer two(folder_ / "b.h5");
  one.write_bytes("/x", "one");
  two.write_bytes("/x", "two");
  one.finish();
  const Reader reader(path_);
  const Reader again(path_);
  two.finish();
  EXPECT_EQ(Reader(folder_ / "b.h5").read_bytes("/x"), "two");
  EXPECT_EQ(reader.read_bytes("/x"), "one");
  EXPECT_EQ(again.read_bytes("/x"), "one");
  EXPECT_GT(open_objects(), 0);
}

TEST(Hdf5Library, HasAVersionThatIsKnownToWork) {
  EXPECT_THAT(library_version(), testing::MatchesRegex("[12]\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace trireme::hdf5
