#include "trireme/comm/tree.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parallel/parallel.hpp"

namespace trireme::comm {
namespace {

using testing::world;

/// A number that depends on everything and has many bits: another order of additions gives other sums.
float number(int rank, std::int64_t element, int round) {
  const auto mixed = static_cast<std::uint32_t>(rank * 7919 + element * 104729 + round * 1299709) * 2654435761U;
  const float sign = (mixed & 1) != 0 ? -1.0F : 1.0F;
  const float scale = static_cast<float>(1 << (mixed >> 28));
  return sign * scale * (static_cast<float>(mixed >> 9) / 3.0F);
}

/// The sum of the ranks [first, first + count) in tree order, one element, written without looking at the code under
/// test.
float tree_sum(int first, int count, std::int64_t element, int round) {
  if (count == 1) return number(first, element, round);
  int left = 1;
  while (left * 2 < count) left *= 2;
  return tree_sum(first, left, element, round) + tree_sum(first + left, count - left, element, round);
}

Cuts even_cuts(std::int64_t elements) {
  Cuts cuts;
  for (int piece = 0; piece <= world().size(); ++piece) cuts.push_back(elements * piece / world().size());
  return cuts;
}

/// Empty pieces at the front, in the middle and at the end; the rest of very different length.
Cuts uneven_cuts(std::int64_t elements) {
  Cuts cuts{0};
  for (int piece = 1; piece < world().size(); ++piece) {
    const std::int64_t step = piece % 3 == 1 ? 0 : (elements - cuts.back()) / (piece % 2 == 0 ? 3 : 2);
    cuts.push_back(cuts.back() + step);
  }
  cuts.push_back(elements);
  if (world().size() > 3) cuts[cuts.size() - 2] = elements;
  return cuts;
}

std::vector<float> numbers(std::int64_t elements, int round) {
  std::vector<float> data(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) data[static_cast<std::size_t>(i)] = number(world().rank(), i, round);
  return data;
}

/// The number of elements of this rank's piece that differ in any bit from the serial tree sum.
std::int64_t wrong_elements(const std::vector<float>& data, const Cuts& cuts, int round) {
  const auto piece = static_cast<std::size_t>(owned_piece(world().rank(), world().size()));
  std::int64_t wrong = 0;
  for (std::int64_t i = cuts[piece]; i < cuts[piece + 1]; ++i) {
    const float expected = tree_sum(0, world().size(), i, round);
    wrong += std::memcmp(&expected, &data[static_cast<std::size_t>(i)], sizeof(float)) != 0;
  }
  return wrong;
}

void reduce_and_compare(const Cuts& cuts, int num_threads) {
  device::DeviceOptions options;
  options.num_threads = num_threads;
  const device::Device device(options);
  TreeReduceScatter reduce(world(), device, cuts, 3);
  std::vector<float> scratch(static_cast<std::size_t>(reduce.scratch_elements()));
  for (int round = 0; round < 2; ++round) {
    std::vector<float> data = numbers(cuts.back(), round);
    reduce.start(data.data(), scratch.data());
    reduce.finish();
    EXPECT_EQ(wrong_elements(data, cuts, round), 0) << cuts.back() << " elements";
  }
}

// 4 KiB is where Open MPI stops to buffer messages: 1024 floats.
constexpr std::int64_t sizes[] = {0, 1, 2, 7, 64, 1023, 1025, 8191, 40000, 100003};

TEST(ReduceScatter, AddsInTreeOrderOnEveryCount) {
  for (std::int64_t elements : sizes) reduce_and_compare(even_cuts(elements), 1);
}

TEST(ReduceScatter, TakesUnevenAndEmptyPieces) {
  for (std::int64_t elements : sizes) reduce_and_compare(uneven_cuts(elements), 1);
}

TEST(ReduceScatter, GivesTheSameBitsOnTwoThreads) {
  reduce_and_compare(even_cuts(100003), 2);
}

TEST(ReduceScatter, NeedsNoMoreScratchThanItSays) {
  const Cuts cuts = uneven_cuts(5003);
  const device::Device device({});
  TreeReduceScatter reduce(world(), device, cuts, 4);
  constexpr float guard = 1234.5F;
  std::vector<float> scratch(static_cast<std::size_t>(reduce.scratch_elements()) + 1, guard);
  std::vector<float> data = numbers(cuts.back(), 0);
  reduce.start(data.data(), scratch.data());
  reduce.finish();
  EXPECT_EQ(scratch.back(), guard);
}

TEST(ReduceScatter, GoesOnByPollingWithoutBlocking) {
  const Cuts cuts = even_cuts(20011);
  const device::Device device({});
  TreeReduceScatter reduce(world(), device, cuts, 5);
  EXPECT_TRUE(reduce.poll()) << "not started";
  std::vector<float> scratch(static_cast<std::size_t>(reduce.scratch_elements()));
  std::vector<float> data = numbers(cuts.back(), 0);
  // The last rank starts only after all others have polled: a poll that blocks would never come to the barrier.
  const bool late = world().rank() == world().size() - 1;
  if (!late) {
    reduce.start(data.data(), scratch.data());
    EXPECT_EQ(reduce.poll(), false);
  }
  world().barrier();
  if (late) reduce.start(data.data(), scratch.data());
  while (!reduce.poll()) {
  }
  EXPECT_EQ(wrong_elements(data, cuts, 0), 0);
}

TEST(ReduceScatter, RunsManyAtOnceWhateverTheOrderOfPolling) {
  constexpr int num_objects = 6;
  const Cuts cuts = uneven_cuts(9001);
  const device::Device device({});
  std::vector<std::unique_ptr<TreeReduceScatter>> objects;
  std::vector<std::vector<float>> data;
  std::vector<std::vector<float>> scratch;
  for (int i = 0; i < num_objects; ++i) {
    objects.push_back(std::make_unique<TreeReduceScatter>(world(), device, cuts, 10 + i));
    data.push_back(numbers(cuts.back(), i));
    scratch.emplace_back(static_cast<std::size_t>(objects.back()->scratch_elements()));
  }
  for (std::size_t i = 0; i < objects.size(); ++i) objects[i]->start(data[i].data(), scratch[i].data());
  // Even ranks look from the front, odd ones from the back.
  if (world().rank() % 2 == 1) std::reverse(objects.begin(), objects.end());
  for (bool all = false; !all;) {
    all = true;
    for (const auto& object : objects) all = object->poll() && all;
  }
  for (int i = 0; i < num_objects; ++i) EXPECT_EQ(wrong_elements(data[static_cast<std::size_t>(i)], cuts, i), 0);
}

template <class T>
void gather_and_compare(const Cuts& cuts) {
  PieceAllGather gather(world(), cuts, 7, sizeof(T));
  for (int round = 0; round < 2; ++round) {
    std::vector<T> data(static_cast<std::size_t>(cuts.back()), static_cast<T>(-1));
    for (int rank = 0; rank < world().size(); ++rank) {
      const auto piece = static_cast<std::size_t>(owned_piece(rank, world().size()));
      if (rank != world().rank()) continue;
      for (std::int64_t i = cuts[piece]; i < cuts[piece + 1]; ++i) {
        data[static_cast<std::size_t>(i)] = static_cast<T>(i + round);
      }
    }
    gather.start(data.data());
    if (round == 0) gather.finish();
    while (!gather.poll()) {
    }
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < cuts.back(); ++i) {
      wrong += data[static_cast<std::size_t>(i)] != static_cast<T>(i + round);
    }
    EXPECT_EQ(wrong, 0) << cuts.back() << " elements";
  }
}

TEST(AllGather, FillsInAllPieces) {
  for (std::int64_t elements : sizes) gather_and_compare<float>(even_cuts(elements));
  for (std::int64_t elements : sizes) gather_and_compare<float>(uneven_cuts(elements));
}

TEST(AllGather, TakesElementsOfAnySize) {
  for (std::int64_t elements : sizes) {
    gather_and_compare<std::uint8_t>(uneven_cuts(elements));
    gather_and_compare<std::uint16_t>(uneven_cuts(elements));
    gather_and_compare<double>(uneven_cuts(elements));
  }
}

}  // namespace
}  // namespace trireme::comm
