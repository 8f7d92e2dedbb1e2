#include "trireme/layers/tensor_axis.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/compare.hpp"
#include "unit/layers/rig.hpp"

namespace trireme::layers {
namespace {

using tensor::Tensor;

const device::Device& one_thread() {
  static const device::Device device({.num_threads = 1, .isa = device::Isa::generic});
  return device;
}

/// Calls work(axis, rank) for every rank of a planned axis.
template <class Work>
void for_each_rank(int size, const TensorAxisOptions& options, const Work& work) {
  for (int rank = 0; rank < size; ++rank) {
    const auto planned = comm::make_planned_communicator(rank, size);
    TensorAxis axis(*planned, one_thread(), options);
    work(axis, rank);
  }
}

TEST(TensorAxis, EveryRowIsOnOneRankAndInOneOfItsRowSlices) {
  for (const int size : {1, 2, 3, 4, 8}) {
    for (const std::int64_t rows : {0, 1, 2, 7, 8, 21, 64, 257}) {
      std::vector<int> owners(static_cast<std::size_t>(rows));
      for_each_rank(size, {.slices = 2 * size, .kv_heads = 1, .width = 4}, [&](const TensorAxis& axis, int) {
        const Range own = axis.own_rows(rows);
        std::int64_t next = 0;
        for (std::int64_t k = 0; k < axis.slices().count; ++k) {
          EXPECT_EQ(axis.row_slice(rows, k).begin, next);
          next = axis.row_slice(rows, k).end();
        }
        EXPECT_EQ(next, own.count);
        for (std::int64_t row = own.begin; row < own.end(); ++row) ++owners[static_cast<std::size_t>(row)];
      });
      EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), rows) << size << " ranks";
    }
  }
}

TEST(TensorAxis, TheLargestShareOfRowsIsThatOfAnyFewerRows) {
  for (const int size : {1, 2, 3, 5, 8}) {
    for_each_rank(size, {.slices = size, .kv_heads = size, .width = 4}, [&](const TensorAxis& axis, int rank) {
      std::int64_t largest = 0;
      for (std::int64_t rows = 0; rows < 40; ++rows) {
        largest = std::max(largest, axis.own_rows(rows).count);
        EXPECT_EQ(axis.max_own_rows(rows), largest) << rows << " rows, rank " << rank << " of " << size;
      }
    });
  }
}

TEST(TensorAxis, EverySliceIsOnOneRankAndEveryKeyValueSliceCountsOnce) {
  for (const int size : {1, 2, 4, 8}) {
    for (const std::int64_t kv_heads : {1, 2, 4, 8, 16}) {
      std::vector<int> slices(8);
      std::vector<int> kv_slices(static_cast<std::size_t>(std::min<std::int64_t>(8, kv_heads)));
      for_each_rank(size, {.slices = 8, .kv_heads = kv_heads, .head_width = 2, .width = 4},
                    [&](const TensorAxis& axis, int) {
                      EXPECT_EQ(axis.num_kv_slices(), static_cast<std::int64_t>(kv_slices.size()));
                      for (std::int64_t k = axis.slices().begin; k < axis.slices().end(); ++k) {
                        ++slices[static_cast<std::size_t>(k)];
                        const std::int64_t read = k * axis.num_kv_slices() / 8;
                        EXPECT_TRUE(axis.kv_slices().begin <= read && read < axis.kv_slices().end());
                      }
                      for (std::int64_t j = axis.kv_slices().begin; j < axis.kv_slices().end(); ++j) {
                        kv_slices[static_cast<std::size_t>(j)] += axis.counts_kv() ? 1 : 0;
                      }
                    });
      EXPECT_EQ(slices, std::vector<int>(8, 1)) << size << " ranks";
      EXPECT_EQ(kv_slices, std::vector<int>(kv_slices.size(), 1)) << size << " ranks, " << kv_heads << " heads";
    }
  }
}

TEST(TensorAxis, OneRankWithOneSliceTakesNoMemoryAndMakesAllRowsAtOnce) {
  const auto self = comm::make_self_communicator();
  TensorAxis axis(*self, one_thread(), {.slices = 1, .kv_heads = 4, .head_width = 2, .width = 3});
  device::Arena measured;
  axis.allocate(measured, 1000);
  EXPECT_EQ(measured.used_bytes(), 0U);

  std::vector<float> rows(3000);
  const Tensor own = test::view(rows, {1000, 3});
  EXPECT_EQ(axis.gather_rows(own, 1000, Traffic::mlp).data, own.data);
  int calls = 0;
  axis.sum_slices(
      1000,
      [&](std::int64_t k, std::int64_t begin, const Tensor& target) {
        ++calls;
        EXPECT_EQ(k, 0);
        EXPECT_EQ(begin, 0);
        EXPECT_EQ(target.data, own.data);
        EXPECT_EQ(target.shape[0], 1000);
      },
      own, Traffic::mlp);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(axis.traffic()[static_cast<std::size_t>(Traffic::mlp)].calls, 0);
}

/// Written without looking at the code under test.
float tree(const std::vector<float>& parts, std::size_t first, std::size_t count) {
  if (count == 1) return parts[first];
  std::size_t left = 1;
  while (left * 2 < count) left *= 2;
  return tree(parts, first, left) + tree(parts, first + left, count - left);
}

TEST(TensorAxis, SumsSlicesInTheTreeBlockOfRowsByBlockOfRows) {
  const auto self = comm::make_self_communicator();
  constexpr std::int64_t width = 5;
  for (const std::int64_t slices : {2, 3, 4, 5, 6, 8}) {
    for (const std::int64_t rows : {1, 255, 256, 257, 600}) {
      TensorAxis axis(*self, one_thread(), {.slices = slices, .kv_heads = slices, .width = width});
      device::Arena arena(1U << 22U);
      axis.allocate(arena, rows);
      const std::vector<float> parts = test::normals("parts", slices * rows * width);
      std::vector<float> sum(static_cast<std::size_t>(rows * width), 7.0F);
      axis.sum_slices(
          rows,
          [&](std::int64_t k, std::int64_t begin, const Tensor& target) {
            EXPECT_EQ(begin % TensorAxis::block_rows, 0);
            EXPECT_EQ(target.shape[0], std::min(TensorAxis::block_rows, rows - begin));
            std::copy_n(parts.begin() + (k * rows + begin) * width, target.size(), target.as<float>());
          },
          test::view(sum, {rows, width}), Traffic::mlp);
      std::vector<float> expected;
      for (std::int64_t i = 0; i < rows * width; ++i) {
        std::vector<float> of_element;
        for (std::int64_t k = 0; k < slices; ++k) {
          of_element.push_back(parts[static_cast<std::size_t>(k * rows * width + i)]);
        }
        expected.push_back(tree(of_element, 0, of_element.size()));
      }
      EXPECT_TRUE(test::same_bits(sum, expected)) << slices << " slices, " << rows << " rows";
    }
  }
}

TEST(TensorAxis, MemoryIsForetoldByAMeasuringArena) {
  for (const int size : {2, 3, 8}) {
    for_each_rank(size, {.slices = 2 * size, .kv_heads = 1, .head_width = 6, .width = 10}, [&](TensorAxis& axis, int) {
      device::Arena measured;
      axis.allocate(measured, 101);
      // Two arrays of [N, D]; one buffer of [N, D] for the odd slice; the scratch is less than one more for each rank.
      const std::size_t array = 101 * 10 * sizeof(float);
      EXPECT_GE(measured.used_bytes(device::MemoryClass::buffers), 3 * array);
      EXPECT_LE(measured.used_bytes(device::MemoryClass::buffers), 4 * array + 512);
    });
  }
}

}  // namespace
}  // namespace trireme::layers
