#include "trireme/kernels/attention.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "attention_case.hpp"
#include "reference/attention.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;
using namespace test_attention;

constexpr double tolerance = 5e-6;

reference::AttentionResult expected_of(const Attention& a) {
  const AttentionShape shape = a.shape();
  const auto position = [shape](std::size_t i) { return shape.keys - shape.queries + static_cast<std::int64_t>(i); };
  reference::AttentionCase c{.batch = static_cast<std::size_t>(shape.batch),
                             .queries = static_cast<std::size_t>(shape.queries),
                             .keys = static_cast<std::size_t>(shape.keys),
                             .heads = static_cast<std::size_t>(shape.heads),
                             .kv_heads = static_cast<std::size_t>(shape.kv_heads),
                             .head_size = static_cast<std::size_t>(shape.head_size),
                             .scale = shape.scale,
                             .visible = {},
                             .factor = {}};
  c.visible = [&, shape](std::size_t b, std::size_t i, std::size_t j) {
    const auto key = static_cast<std::int64_t>(j);
    const auto first = a.starts.values()[b * c.keys + static_cast<std::size_t>(position(i))];
    return (!shape.causal || key <= position(i)) && (shape.window == 0 || key > position(i) - shape.window) &&
           (!a.sizes.documents || key >= first);
  };
  c.factor = [&, shape](std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
    if (a.sizes.dropout == 0) return 1.0;
    const auto row = (shape.first_head + static_cast<std::int64_t>(h)) * shape.keys + position(i);
    const bool kept =
        survives(a.dropout(), 5 + static_cast<std::int64_t>(b), row * shape.keys + static_cast<std::int64_t>(j));
    return kept ? 1 / (1 - static_cast<double>(a.sizes.dropout)) : 0.0;
  };
  return reference::attention(c, a.q.doubles(), a.k.doubles(), a.v.doubles(), a.dout.doubles());
}

void expect_near(const Attention& a, const reference::AttentionResult& expected) {
  EXPECT_TRUE(test::all_near(a.out.values(), expected.out, tolerance)) << "out";
  EXPECT_TRUE(test::all_near(a.log_sum_exp.values(), expected.log_sum_exp, tolerance)) << "log_sum_exp";
  // Of a query that sees one key the exact dq is zero; 1 is the scale of its terms.
  EXPECT_TRUE(test::all_near(a.dq.values(), expected.dq, tolerance, 1)) << "dq";
  EXPECT_TRUE(test::all_near(a.dk.values(), expected.dk, tolerance, 1)) << "dk";
  EXPECT_TRUE(test::all_near(a.dv.values(), expected.dv, tolerance, 1)) << "dv";
}

TEST(Attention, MatchesTheDefinitionAtAwkwardSizes) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  for (const Sizes& sizes : all_sizes) {
    SCOPED_TRACE(name_of(sizes));
    Attention attention(sizes);
    attention.run(device);
    expect_near(attention, expected_of(attention));
  }
}

TEST(Attention, MatchesTheDefinitionInItsPortableForm) {
  const device::Device device({.num_threads = 1, .isa = device::Isa::generic});  // brings Kokkos up
  for (const Sizes& sizes : all_sizes) {
    SCOPED_TRACE(name_of(sizes));
    Attention attention(sizes);
    attention.run_portable();
    expect_near(attention, expected_of(attention));
  }
}

TEST(Attention, GivesTheSameBitsOnEveryDevice) {
  for (const Sizes& sizes : all_sizes) {
    SCOPED_TRACE(name_of(sizes));
    Attention first(sizes);
    first.run(device::Device({.num_threads = 1, .isa = device::Isa::generic}));
    test::for_each_device([&](const device::Device& device) {
      Attention attention(sizes);
      attention.run(device);
      EXPECT_TRUE(test::same_bits(attention.out.values(), first.out.values()));
      EXPECT_TRUE(test::same_bits(attention.log_sum_exp.values(), first.log_sum_exp.values()));
      EXPECT_TRUE(test::same_bits(attention.dq.values(), first.dq.values()));
      EXPECT_TRUE(test::same_bits(attention.dk.values(), first.dk.values()));
      EXPECT_TRUE(test::same_bits(attention.dv.values(), first.dv.values()));
    });
  }
}

TEST(Attention, OfASequenceOrHeadDoesNotDependOnItsNeighbours) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  const std::int64_t tokens = 61;
  const std::int64_t size = 24;
  Attention both({2, tokens, tokens, 2, 2, size});
  both.run(device);
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t h = 0; h < 2; ++h) {
      Attention alone({1, tokens, tokens, 1, 1, size});
      const auto part_of = [&](const Array<float>& from) {
        std::vector<float> values;
        for (std::int64_t t = 0; t < tokens; ++t) {
          const auto row = from.values().begin() + ((b * tokens + t) * 2 + h) * size;
          values.insert(values.end(), row, row + size);
        }
        return Array<float>({1, tokens, 1, size}, values);
      };
      alone.q = part_of(both.q);
      alone.k = part_of(both.k);
      alone.v = part_of(both.v);
      alone.dout = part_of(both.dout);
      alone.run(device);
      EXPECT_TRUE(test::same_bits(alone.out.values(), part_of(both.out).values()));
      EXPECT_TRUE(test::same_bits(alone.dq.values(), part_of(both.dq).values()));
      EXPECT_TRUE(test::same_bits(alone.dk.values(), part_of(both.dk).values()));
      EXPECT_TRUE(test::same_bits(alone.dv.values(), part_of(both.dv).values()));
    }
  }
}

// Heads [begin, begin + count) of an array [B, T, heads, K].
Array<float> heads_of(Array<float>& from, std::int64_t begin, std::int64_t count) {
  const tensor::Shape shape = from.tensor().shape;
  std::vector<float> values;
  for (std::int64_t row = 0; row < shape[0] * shape[1]; ++row) {
    const auto first = from.values().begin() + (row * shape[2] + begin) * shape[3];
    values.insert(values.end(), first, first + count * shape[3]);
  }
  return Array<float>({shape[0], shape[1], count, shape[3]}, values);
}

TEST(Attention, OfSomeHeadsIsThatOfAllHeads) {
  // Two to a key/value head, so slices of 2, 3 and 6 key/value heads have whole groups.
  const Sizes sizes{2, 71, 71, 12, 6, 24, 0, true, true, 0.3F};
  for (const int threads : {1, 3}) {
    const device::Device device({.num_threads = threads, .isa = device::detect_isa()});
    Attention all(sizes);
    all.run(device);
    for (const std::int64_t slices : {1, 2, 3, 6}) {
      const std::int64_t heads = sizes.heads / slices;
      const std::int64_t kv_heads = sizes.kv_heads / slices;
      for (std::int64_t slice = 0; slice < slices; ++slice) {
        Sizes of_slice = sizes;
        of_slice.heads = heads;
        of_slice.kv_heads = kv_heads;
        of_slice.first_head = slice * heads;
        Attention part(of_slice);
        part.q = heads_of(all.q, slice * heads, heads);
        part.k = heads_of(all.k, slice * kv_heads, kv_heads);
        part.v = heads_of(all.v, slice * kv_heads, kv_heads);
        part.dout = heads_of(all.dout, slice * heads, heads);
        part.run(device);
        EXPECT_TRUE(test::same_bits(part.out.values(), heads_of(all.out, slice * heads, heads).values()));
        EXPECT_TRUE(test::same_bits(part.dq.values(), heads_of(all.dq, slice * heads, heads).values()));
        EXPECT_TRUE(test::same_bits(part.dk.values(), heads_of(all.dk, slice * kv_heads, kv_heads).values()));
        EXPECT_TRUE(test::same_bits(part.dv.values(), heads_of(all.dv, slice * kv_heads, kv_heads).values()));
      }
    }
  }
}

TEST(Attention, OfAPartOfAGroupGivesItsShareOfTheKeysGradients) {
  const Sizes sizes{1, 71, 71, 4, 1, 24, 0, true, false, 0.3F};
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  Attention all(sizes);
  all.run(device);
  std::vector<double> dk(all.dk.values().size());
  std::vector<double> dv(all.dv.values().size());
  for (const std::int64_t half : {0, 1}) {
    Sizes of_half = sizes;
    of_half.heads = 2;
    of_half.first_head = 2 * half;
    Attention part(of_half);
    part.q = heads_of(all.q, 2 * half, 2);
    part.k = all.k;
    part.v = all.v;
    part.dout = heads_of(all.dout, 2 * half, 2);
    part.run(device);
    EXPECT_TRUE(test::same_bits(part.out.values(), heads_of(all.out, 2 * half, 2).values()));
    EXPECT_TRUE(test::same_bits(part.dq.values(), heads_of(all.dq, 2 * half, 2).values()));
    for (std::size_t i = 0; i < dk.size(); ++i) {
      dk[i] += part.dk.values()[i];
      dv[i] += part.dv.values()[i];
    }
  }
  EXPECT_TRUE(test::all_near(all.dk.values(), dk, 1e-6));
  EXPECT_TRUE(test::all_near(all.dv.values(), dv, 1e-6));
}

TEST(Attention, GradientMatchesFiniteDifferences) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Attention a({1, 7, 9, 2, 1, 3, 0, true, false, 0.25F});
  a.run(device);
  const auto loss = [&] {
    const std::vector<double> out = expected_of(a).out;
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * a.dout.values()[i];
    return sum;
  };
  const auto differences = [&](Array<float>& input) {
    const float step = 0x1p-8F;
    std::vector<double> result;
    for (float& value : input.values()) {
      const float before = value;
      value = before + step;
      const double above = loss();
      value = before - step;
      const double below = loss();
      value = before;
      result.push_back((above - below) / (2 * static_cast<double>(step)));
    }
    return result;
  };
  EXPECT_TRUE(test::all_near(a.dq.values(), differences(a.q), 1e-4));
  EXPECT_TRUE(test::all_near(a.dk.values(), differences(a.k), 1e-4));
  EXPECT_TRUE(test::all_near(a.dv.values(), differences(a.v), 1e-4));
}

TEST(Attention, WithoutSequencesOrQueriesSetsTheGradientsOfTheKeysToZero) {
  for (const int threads : {1, 3}) {
    const device::Device device({.num_threads = threads, .isa = device::detect_isa()});
    for (const Sizes& sizes : {Sizes{0, 5, 33, 2, 1, 9}, Sizes{2, 0, 33, 2, 1, 9}}) {
      Attention attention(sizes);
      attention.run(device);
      EXPECT_EQ(attention.dk.values(), std::vector<float>(attention.dk.values().size()));
      EXPECT_EQ(attention.dv.values(), std::vector<float>(attention.dv.values().size()));
    }
  }
}

TEST(Attention, StaysExactWithLargeScores) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Attention a({1, 70, 70, 1, 1, 8});
  for (float& value : a.q.values()) value *= 40;
  a.run(device);
  const reference::AttentionResult expected = expected_of(a);
  EXPECT_TRUE(test::all_near(a.out.values(), expected.out, 1e-4));
  EXPECT_TRUE(test::all_near(a.log_sum_exp.values(), expected.log_sum_exp, tolerance));
}

TEST(Attention, ShowsANanOfItsInputs) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  Attention a({1, 70, 70, 1, 1, 8});
  a.k.values()[8 * 66] = std::numeric_limits<float>::quiet_NaN();
  a.run(device);
  EXPECT_TRUE(std::isnan(a.out.values().back()));
  EXPECT_FALSE(std::isnan(a.out.values().front()));
  EXPECT_TRUE(std::isnan(a.dq.values().back()));
}

}  // namespace
}  // namespace trireme::kernels
