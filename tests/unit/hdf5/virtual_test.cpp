#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/hdf5/file.hpp"
#include "trireme/io/file.hpp"

#include "unit/io/temporary_folder.hpp"

namespace trireme::hdf5 {
namespace {

using testing::ElementsAre;

class VirtualDataset : public testing::Test {
 protected:
  ~VirtualDataset() override { EXPECT_EQ(open_objects(), 0); }

  void write_piece(const std::string& name, const Extents& extents, const std::vector<float>& values) {
    Writer writer(folder_ / name);
    writer.create("/pieces/w", extents, Dtype::f32);
    writer.write("/pieces/w", values.data());
    writer.finish();
  }

  std::vector<float> read_whole() {
    const Reader reader(folder_ / "index.h5");
    const Extents extents = reader.info("/weights/w").extents;
    std::vector<float> values(extents[0] * extents[1]);
    reader.read("/weights/w", Dtype::f32, values.data());
    return values;
  }

  test::TemporaryFolder folder_;
};

TEST_F(VirtualDataset, ShowsPiecesOfSeveralFilesAsOneWhole) {
  write_piece("s0.h5", {2, 1}, {1, 4});
  write_piece("s1.h5", {2, 2}, {2, 3, 5, 6});
  Writer writer(folder_ / "index.h5");
  writer.create_virtual("/weights/w", {2, 3}, Dtype::f32,
                        {{"s0.h5", "/pieces/w", {0, 0}, {2, 1}},
                         {"s1.h5", "/pieces/w", {0, 1}, {2, 2}},
                         {"s2.h5", "/pieces/w", {0, 0}, {0, 3}}});
  writer.finish();
  EXPECT_THAT(read_whole(), ElementsAre(1, 2, 3, 4, 5, 6));
  io::make_folder(folder_ / "moved");
  for (const char* name : {"s0.h5", "s1.h5", "index.h5"}) {
    io::rename(folder_ / name, folder_ / (std::string("moved/") + name));
  }
  const Reader moved(folder_ / "moved/index.h5");
  std::vector<float> values(6);
  moved.read("/weights/w", Dtype::f32, values.data());
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(VirtualDataset, ShowsNanWhereAPieceIsMissingAndZeroForIntegers) {
  write_piece("s0.h5", {1, 3}, {1, 2, 3});
  Writer writer(folder_ / "index.h5");
  writer.create_virtual("/weights/w", {2, 3}, Dtype::f32,
                        {{"s0.h5", "/pieces/w", {0, 0}, {1, 3}}, {"s1.h5", "/pieces/w", {1, 0}, {1, 3}}});
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16, Dtype::i32, Dtype::u16, Dtype::f64}) {
    writer.create_virtual(std::string("/").append(name_of(dtype)), {1}, dtype, {{"missing.h5", "/x", {0}, {1}}});
  }
  writer.finish();
  const std::vector<float> values = read_whole();
  EXPECT_EQ(values[2], 3.0F);
  EXPECT_TRUE(std::isnan(values[3]) && std::isnan(values[5]));
  const Reader reader(folder_ / "index.h5");
  const auto bits = [&](const char* name, Dtype dtype) {
    std::uint64_t value = 0;
    reader.read(name, dtype, &value);
    return value;
  };
  EXPECT_EQ(bits("/bf16", Dtype::bf16), 0x7fc0U);
  EXPECT_EQ(bits("/fp16", Dtype::f16), 0x7e00U);
  EXPECT_EQ(bits("/int32", Dtype::i32), 0U);
  EXPECT_EQ(bits("/uint16", Dtype::u16), 0U);
  EXPECT_EQ(bits("/fp64", Dtype::f64), 0x7ff8000000000000U);
}

TEST_F(VirtualDataset, MayBeEmptyOrWithoutSources) {
  Writer writer(folder_ / "index.h5");
  writer.create_virtual("/empty", {0, 4}, Dtype::f32, {});
  writer.create_virtual("/weights/w", {1, 2}, Dtype::f32, {});
  writer.finish();
  const Reader reader(folder_ / "index.h5");
  EXPECT_THAT(reader.info("/empty").extents, ElementsAre(0, 4));
  EXPECT_TRUE(std::isnan(read_whole()[1]));
}

}  // namespace
}  // namespace trireme::hdf5
