// What the tensor axis sends, and what it counts of it.
#include "trireme/layers/tensor_axis.hpp"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parallel/parallel.hpp"
#include "unit/layers/rig.hpp"

namespace trireme::layers {
namespace {

using test::normals;
using test::Rig;
using test::view;
using testing::world;

constexpr std::int64_t width = 5;

/// Written without looking at the code under test.
float tree(const std::vector<float>& parts, std::size_t first, std::size_t count) {
  if (count == 1) return parts[first];
  std::size_t left = 1;
  while (left * 2 < count) left *= 2;
  return tree(parts, first, left) + tree(parts, first + left, count - left);
}

/// The tree over the first dimension of parts [count, elements].
std::vector<float> tree_of(const std::vector<float>& parts, std::int64_t count) {
  const std::int64_t elements = static_cast<std::int64_t>(parts.size()) / count;
  std::vector<float> sums;
  for (std::int64_t i = 0; i < elements; ++i) {
    std::vector<float> of_element;
    for (std::int64_t p = 0; p < count; ++p) of_element.push_back(parts[static_cast<std::size_t>(p * elements + i)]);
    sums.push_back(tree(of_element, 0, of_element.size()));
  }
  return sums;
}

TensorAxisOptions two_slices_a_rank(std::int64_t kv_heads) {
  return {.slices = 2 * world().size(), .kv_heads = kv_heads, .head_width = 3, .width = width};
}

TEST(TensorAxisOfRanks, EveryRankGathersAllRows) {
  Rig rig(world(), two_slices_a_rank(1), 60);
  for (const std::int64_t rows : {1, 7, 60, 13}) {
    const std::vector<float> all = normals("rows", rows * width);
    std::vector<float> own = rig.own(all, rows);
    const tensor::Tensor gathered =
        rig.axis().gather_rows(view(own, {rig.axis().own_rows(rows).count, width}), rows, Traffic::head);
    EXPECT_EQ(std::vector<float>(gathered.as<float>(), gathered.as<float>() + gathered.size()), all) << rows;
  }
}

TEST(TensorAxisOfRanks, PartialSumsAddInTheTreeOfAllSlices) {
  Rig rig(world(), two_slices_a_rank(1), 600);
  const std::int64_t num_slices = rig.axis().num_slices();
  for (const std::int64_t rows : {1, 7, 600}) {
    const std::vector<float> parts = normals("parts", num_slices * rows * width);
    std::vector<float> own(static_cast<std::size_t>(rig.axis().own_rows(rows).count * width));
    rig.axis().sum_slices(
        rows,
        [&](std::int64_t k, std::int64_t begin, const tensor::Tensor& target) {
          const std::int64_t slice = rig.axis().slices().begin + k;
          std::copy_n(parts.begin() + (slice * rows + begin) * width, target.size(), target.as<float>());
        },
        view(own, {rig.axis().own_rows(rows).count, width}), Traffic::mlp);
    EXPECT_EQ(own, rig.own(tree_of(parts, num_slices), rows)) << rows << " rows";
  }
}

TEST(TensorAxisOfRanks, SumsOfRowSlicesAddInTheOrderOfTheRows) {
  Rig rig(world(), two_slices_a_rank(1), 64);
  const std::int64_t num_slices = rig.axis().num_slices();
  const std::vector<float> parts = normals("sums", num_slices * 7);
  // Row slice number r is rows r of a micro-batch of num_slices rows.
  std::vector<float> mine = rig.own(parts, num_slices);
  rig.axis().sum_row_slices(mine.data(), 7, Traffic::norms);
  EXPECT_EQ(test::cut(mine, 0, 7), tree_of(parts, num_slices));
}

TEST(TensorAxisOfRanks, SlicesAreGatheredByTheirNumber) {
  Rig rig(world(), two_slices_a_rank(1), 64);
  const std::vector<float> expected = normals("slices", rig.axis().num_slices() * 7);
  const std::vector<float> mine = test::cut(expected, rig.axis().slices().begin * 7, 2 * 7);
  std::vector<float> all(expected.size());
  rig.axis().gather_slices(mine.data(), 7, all.data(), Traffic::head);
  EXPECT_EQ(all, expected);
}

TEST(TensorAxisOfRanks, KeyValueGradientsAddOverTheRanksThatShareAHead) {
  for (const std::int64_t kv_heads : {1, 2, 3, 4, 8}) {
    const std::int64_t num_slices = 2 * world().size();
    if (world().size() % kv_heads != 0 && (kv_heads % world().size() != 0 || num_slices % kv_heads != 0)) continue;
    Rig rig(world(), two_slices_a_rank(kv_heads), 11);
    const std::int64_t sharers = std::max<std::int64_t>(1, world().size() / kv_heads);
    constexpr std::int64_t elements = 11 * 3;
    const std::vector<float> all = normals("kv", world().size() * elements);
    std::vector<float> mine = test::cut(all, world().rank() * elements, elements);
    rig.axis().sum_kv_group(view(mine, {11, 1, 3}), Traffic::attention);
    const std::int64_t first = world().rank() / sharers * sharers;
    EXPECT_EQ(mine, tree_of(test::cut(all, first * elements, sharers * elements), sharers)) << kv_heads << " heads";
  }
}

TEST(TensorAxisOfRanks, TrafficIsCountedByKind) {
  const std::int64_t size = world().size();
  Rig rig(world(), two_slices_a_rank(2 * size), 48);
  const std::int64_t rows = 6 * size;  // 6 rows a rank
  std::vector<float> own(6 * width);
  const tensor::Tensor mine = view(own, {6, width});
  static_cast<void>(rig.axis().gather_rows(mine, rows, Traffic::attention));
  static_cast<void>(rig.axis().gather_rows(mine, rows, Traffic::attention));
  rig.axis().reduce_rows(rig.axis().partial_rows(rows, mine), mine, Traffic::mlp);
  std::vector<float> sums(2 * 7);
  rig.axis().sum_row_slices(sums.data(), 7, Traffic::norms);

  const auto counted = [&](Traffic kind) { return rig.axis().traffic()[static_cast<std::size_t>(kind)]; };
  const std::int64_t calls = size > 1 ? 1 : 0;
  const std::int64_t piece_bytes = 6 * width * 4;
  EXPECT_EQ(counted(Traffic::attention).calls, 2 * calls);
  EXPECT_EQ(counted(Traffic::attention).sent_bytes, 2 * (size - 1) * piece_bytes);
  EXPECT_EQ(counted(Traffic::mlp).calls, calls);
  EXPECT_EQ(counted(Traffic::mlp).sent_bytes, (size - 1) * piece_bytes);
  EXPECT_EQ(counted(Traffic::norms).sent_bytes, (size - 1) * 2 * 7 * 4);
  EXPECT_EQ(counted(Traffic::embedding).calls, 0);
  EXPECT_EQ(counted(Traffic::head).calls, 0);
}

TEST(TensorAxisOfRanks, HalfPrecisionGathersHalfTheBytesAndSendsPartialSumsWhole) {
  const std::int64_t size = world().size();
  TensorAxisOptions options = two_slices_a_rank(2 * size);
  options.compute = Dtype::bf16;
  Rig rig(world(), options, 48);
  const std::int64_t rows = 6 * size;
  test::Typed own(rig.device(), std::vector<float>(6 * width), {6, width}, Dtype::bf16);
  static_cast<void>(rig.axis().gather_rows(own.tensor(), rows, Traffic::attention));
  rig.axis().reduce_rows(rig.axis().partial_rows(rows, own.tensor()), own.tensor(), Traffic::mlp);
  const auto sent = [&](Traffic kind) { return rig.axis().traffic()[static_cast<std::size_t>(kind)].sent_bytes; };
  EXPECT_EQ(sent(Traffic::attention), (size - 1) * 6 * width * 2);
  EXPECT_EQ(sent(Traffic::mlp), (size - 1) * 6 * width * 4);
}

}  // namespace
}  // namespace trireme::layers
