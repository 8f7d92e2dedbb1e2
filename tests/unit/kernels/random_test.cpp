#include "trireme/kernels/random.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "trireme/kernels/cast.hpp"

#include "kernels/normal_quantile.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;

TEST(Philox, GivesThePublishedAnswers) {
  // Random123 (Salmon et al. 2011), kat_vectors, philox4x32 with 10 rounds.
  constexpr std::uint32_t ones = 0xffffffffU;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}));
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxCounter{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}));
  EXPECT_EQ(philox({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, {0xa4093822U, 0x299f31d0U}),
            (PhiloxCounter{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}));
}

TEST(NormalQuantile, InvertsTheDistributionFunction) {
  for (const double p : {0x1p-33, 1e-9, 1e-6, 0.001, 0.0749, 0.0751, 0.2, 0.4999, 0.5}) {
    const double x = normal_quantile(p);
    EXPECT_NEAR(0.5 * std::erfc(-x / std::sqrt(2.0)) / p, 1, 3e-14) << p;
  }
  for (const double p : {0x1p-33, 0x1p-20, 0.0625, 0.25}) EXPECT_EQ(normal_quantile(1 - p), -normal_quantile(p));
}

TEST(NormalAt, HasTheMomentsOfTheNormalDistribution) {
  constexpr std::uint64_t count = 1000000;
  double moments[5] = {};
  double products = 0;  // of neighbours
  double before = 0;
  std::int64_t beyond_two = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double x = normal_at(1, 2, i);
    for (int k = 1; k <= 4; ++k) moments[k] += std::pow(x, k) / count;
    products += x * before / count;
    before = x;
    if (std::abs(x) > 2) ++beyond_two;
  }
  // Within five standard errors.
  EXPECT_NEAR(moments[1], 0, 5e-3);
  EXPECT_NEAR(moments[2], 1, 5 * std::sqrt(2) * 1e-3);
  EXPECT_NEAR(moments[3], 0, 5 * std::sqrt(15) * 1e-3);
  EXPECT_NEAR(moments[4], 3, 5 * std::sqrt(96) * 1e-3);
  EXPECT_NEAR(products, 0, 5e-3);
  EXPECT_NEAR(static_cast<double>(beyond_two) / count, 0.0455003, 5 * 2.1e-4);
}

TEST(NormalAt, DependsOnSeedPurposeAndEveryBitOfTheIndex) {
  std::set<double> values = {normal_at(1, 1, 0)};
  values.insert(normal_at(std::uint64_t{1} << 32 | 1, 1, 0));
  values.insert(normal_at(2, 1, 0));
  values.insert(normal_at(1, std::uint64_t{1} << 32 | 1, 0));
  values.insert(normal_at(1, 2, 0));
  for (int bit = 0; bit < 64; ++bit) values.insert(normal_at(1, 1, std::uint64_t{1} << bit));
  EXPECT_EQ(values.size(), 5U + 64);
}

TEST(PurposeOf, IsStableAndDiffersByText) {
  EXPECT_EQ(purpose_of("blocks.0.attention.query.weight"), purpose_of("blocks.0.attention.query.weight"));
  EXPECT_NE(purpose_of("blocks.0.attention.query.weight"), purpose_of("blocks.1.attention.query.weight"));
}

tensor::Parameter drawn_shard(const device::Device& device, tensor::Initial initial, const tensor::Shape& global_shape,
                              const tensor::Shard& shard, Array<float>& memory) {
  tensor::Parameter parameter;
  parameter.name = "a.weight";
  parameter.global_shape = global_shape;
  parameter.shard = shard;
  parameter.initial = initial;
  parameter.deviation = 0.02;
  parameter.weight = memory.tensor();
  draw_initial(device, 5, parameter);
  return parameter;
}

TEST(DrawInitial, DrawsAnyShardAsThatPartOfTheWhole) {
  const tensor::Shape shape{6, 10, 7};
  const device::Device one({.num_threads = 1, .isa = device::Isa::generic});
  const device::Device three({.num_threads = 3, .isa = device::detect_isa()});
  Array<float> all(shape);
  drawn_shard(one, tensor::Initial::normal, shape, tensor::whole(shape), all);
  for (std::size_t i = 0; i < all.values().size(); ++i) {
    ASSERT_EQ(all.values()[i], static_cast<float>(0.02 * normal_at(5, purpose_of("a.weight"), i)));
  }
  const tensor::Shard shards[] = {{{2, 0, 0}, {3, 10, 7}},  // rows
                                  {{0, 3, 0}, {6, 4, 7}},   // columns of the middle
                                  {{0, 0, 3}, {6, 10, 3}},  // columns
                                  {{5, 9, 6}, {1, 1, 1}},   // the last element
                                  {{0, 0, 0}, {6, 0, 7}}};  // nothing
  for (const tensor::Shard& shard : shards) {
    Array<float> part(shard.extent);
    drawn_shard(three, tensor::Initial::normal, shape, shard, part);
    auto value = part.values().begin();
    for (std::int64_t i = 0; i < shard.extent[0]; ++i) {
      for (std::int64_t j = 0; j < shard.extent[1]; ++j) {
        for (std::int64_t k = 0; k < shard.extent[2]; ++k) {
          const std::int64_t index = ((shard.offset[0] + i) * 10 + shard.offset[1] + j) * 7 + shard.offset[2] + k;
          ASSERT_EQ(*value++, all.values()[static_cast<std::size_t>(index)]) << shard.extent.text();
        }
      }
    }
  }
}

template <class Half>
void expect_rounded_weights(const device::Device& device, const tensor::Shard& shard) {
  tensor::Parameter parameter{.name = "a.weight", .global_shape = {6, 10, 7}, .shard = shard};
  for (const auto initial : {tensor::Initial::normal, tensor::Initial::ones, tensor::Initial::zeros}) {
    parameter.initial = initial;
    parameter.deviation = 0.02;
    Array<float> full(shard.extent);
    draw_initial(device, 5, parameter, shard, full.values().data());
    Array<Half> expected(shard.extent);
    cast(device, full.tensor(), expected.tensor());
    Array<Half> half(shard.extent);
    parameter.weight = half.tensor();
    draw_initial(device, 5, parameter);
    EXPECT_TRUE(test::same_bits(half.values(), expected.values()));
  }
}

TEST(DrawInitial, RoundsTheSameNumbersForWeightsInHalfPrecision) {
  const device::Device device({.num_threads = 3, .isa = device::detect_isa()});
  for (const tensor::Shard& shard : {tensor::Shard{{0, 0, 0}, {6, 10, 7}}, tensor::Shard{{1, 3, 2}, {4, 5, 5}}}) {
    expect_rounded_weights<Bf16>(device, shard);
    expect_rounded_weights<Fp16>(device, shard);
  }
}

TEST(DrawInitial, FillsWithZerosAndOnes) {
  const device::Device device({.num_threads = 2, .isa = device::Isa::generic});
  const tensor::Shape shape{5};
  Array<float> values({5}, {9, 9, 9, 9, 9});
  drawn_shard(device, tensor::Initial::ones, shape, tensor::whole(shape), values);
  EXPECT_EQ(values.values(), std::vector<float>(5, 1.0F));
  drawn_shard(device, tensor::Initial::zeros, shape, tensor::whole(shape), values);
  EXPECT_EQ(values.values(), std::vector<float>(5, 0.0F));
}

}  // namespace
}  // namespace trireme::kernels
