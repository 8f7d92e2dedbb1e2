#include "trireme/optim/bucket_layout.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace trireme::optim {
namespace {

tensor::Parameter parameter(const std::string& name, const tensor::Shape& shape, int bucket = 0) {
  tensor::Parameter made;
  made.name = name;
  made.global_shape = shape;
  made.shard = tensor::whole(shape);
  made.bucket = bucket;
  return made;
}

/// Nothing divides evenly; a scalar, a pair and an empty tensor among them.
void fill(tensor::ParameterStore& store) {
  store.add(parameter("matrix", {97, 37}));
  store.add(parameter("pair", {2}));
  store.add(parameter("empty", {0}));
  store.add(parameter("long", {5003}));
  store.add(parameter("scalar", {}));
  store.add(parameter("row", {1, 700}));
}

constexpr int rank_counts[] = {1, 2, 3, 4, 5, 7, 8, 16};

TEST(BucketLayout, StartsEveryParameterOnSixteenElements) {
  tensor::ParameterStore store;
  fill(store);
  const BucketLayout layout = lay_out_bucket(store, 0, 0, 1);
  ASSERT_EQ(layout.parameters.size(), 6U);
  const std::vector<std::int64_t> expected{0, 3600, 3616, 3616, 8624, 8640};
  EXPECT_EQ(layout.offsets, expected);
  EXPECT_EQ(layout.elements, 9344);
}

TEST(BucketLayout, GivesEveryElementExactlyOneOwner) {
  tensor::ParameterStore store;
  fill(store);
  for (int ranks : rank_counts) {
    std::vector<int> owners(9344, 0);
    for (int rank = 0; rank < ranks; ++rank) {
      const BucketLayout layout = lay_out_bucket(store, 0, rank, ranks);
      for (const OwnedRows& rows : layout.owned) {
        EXPECT_GT(rows.elements, 0);
        for (std::int64_t i = 0; i < rows.elements; ++i) ++owners[static_cast<std::size_t>(rows.bucket_offset + i)];
      }
    }
    const BucketLayout layout = lay_out_bucket(store, 0, 0, ranks);
    std::vector<int> expected(9344, 0);
    for (std::size_t p = 0; p < layout.parameters.size(); ++p) {
      const std::int64_t size = layout.parameters[p]->global_shape.size();
      for (std::int64_t i = 0; i < size; ++i) expected[static_cast<std::size_t>(layout.offsets[p] + i)] = 1;
    }
    EXPECT_EQ(owners, expected) << ranks << " ranks";
  }
}

TEST(BucketLayout, CutsMatricesBetweenRowsAndVectorsBetweenRuns) {
  tensor::ParameterStore store;
  fill(store);
  for (int ranks : rank_counts) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (const OwnedRows& rows : lay_out_bucket(store, 0, rank, ranks).owned) {
        const tensor::Shape& shape = rows.parameter->global_shape;
        const std::int64_t columns = shape.num_dims() == 2 ? shape[1] : 1;
        EXPECT_EQ(rows.elements, (rows.end - rows.begin) * columns);
        EXPECT_EQ(rows.begin % (shape.num_dims() == 2 ? 1 : 1024), 0) << rows.parameter->name;
        EXPECT_LE(rows.end * columns, shape.size());
      }
    }
  }
}

TEST(BucketLayout, SharesEvenly) {
  tensor::ParameterStore store;
  store.add(parameter("matrix", {1000, 64}));
  store.add(parameter("other", {300, 48}));
  for (int ranks : rank_counts) {
    const BucketLayout layout = lay_out_bucket(store, 0, 0, ranks);
    for (int piece = 0; piece < ranks; ++piece) {
      const auto p = static_cast<std::size_t>(piece);
      const double ideal = static_cast<double>(layout.elements) / ranks;
      EXPECT_NEAR(static_cast<double>(layout.cuts[p + 1] - layout.cuts[p]), ideal, 64) << ranks << " ranks";
    }
  }
}

TEST(BucketLayout, LeavesOwnersEmptyHandedWhenThereIsLittle) {
  tensor::ParameterStore store;
  store.add(parameter("pair", {2}));
  int owners = 0;
  for (int rank = 0; rank < 4; ++rank) owners += static_cast<int>(lay_out_bucket(store, 0, rank, 4).owned.size());
  EXPECT_EQ(owners, 1);
}

TEST(BucketLayout, CutsASecondGradientLikeTheFirst) {
  tensor::ParameterStore store;
  store.add(parameter("embedding", {97, 36}, 0));
  tensor::Parameter head = parameter("head", {97, 36}, 1);
  head.tied_to = "embedding";
  store.add(head);
  for (int ranks : rank_counts) {
    EXPECT_EQ(lay_out_bucket(store, 0, 0, ranks).cuts, lay_out_bucket(store, 1, 0, ranks).cuts);
  }
}

TEST(BucketLayout, CutsTheSlicesOfASecondGradientLikeThoseOfTheFirst) {
  tensor::ParameterStore store;
  for (const char* name : {"embedding", "head"}) {
    for (const std::int64_t slice : {0, 1, 2, 3}) {
      tensor::Parameter entry = parameter(name, {7, 20}, name[0] == 'e' ? 0 : 1);
      entry.shard.offset[0] = 2 * slice;
      entry.shard.extent[0] = slice == 3 ? 1 : 2;
      if (name[0] == 'h') entry.tied_to = "embedding";
      store.add(entry);
    }
  }
  for (int ranks : rank_counts) {
    const BucketLayout first = lay_out_bucket(store, 0, 0, ranks);
    const BucketLayout second = lay_out_bucket(store, 1, 0, ranks);
    EXPECT_EQ(first.cuts, second.cuts);
    EXPECT_EQ(first.offsets, second.offsets);
    EXPECT_FALSE(first.gradient_only());
    EXPECT_TRUE(second.gradient_only());
  }
}

TEST(BucketLayout, GivesEachRankThePieceThatTheReductionLeavesIt) {
  tensor::ParameterStore store;
  fill(store);
  for (int ranks : rank_counts) {
    for (int rank = 0; rank < ranks; ++rank) {
      const BucketLayout layout = lay_out_bucket(store, 0, rank, ranks);
      const auto piece = static_cast<std::size_t>(comm::owned_piece(rank, ranks));
      EXPECT_EQ(layout.own_begin, layout.cuts[piece]);
      EXPECT_EQ(layout.own_end, layout.cuts[piece + 1]);
      for (const OwnedRows& rows : layout.owned) {
        EXPECT_GE(rows.bucket_offset, layout.own_begin);
        EXPECT_LE(rows.bucket_offset + rows.elements, layout.own_end);
      }
    }
  }
}

TEST(WeightLayout, OfFp32IsTheBucketItself) {
  tensor::ParameterStore store;
  fill(store);
  for (int ranks : rank_counts) {
    const BucketLayout layout = lay_out_bucket(store, 0, ranks / 2, ranks);
    const WeightLayout weights = lay_out_weights(layout, Dtype::f32);
    EXPECT_EQ(weights.bytes, 4 * layout.elements);
    for (std::size_t i = 0; i < layout.offsets.size(); ++i) EXPECT_EQ(weights.offsets[i], 4 * layout.offsets[i]);
    for (std::size_t i = 0; i < layout.cuts.size(); ++i) EXPECT_EQ(weights.cuts[i], 4 * layout.cuts[i]);
    for (std::size_t i = 0; i < layout.owned.size(); ++i) {
      EXPECT_EQ(weights.owned[i], 4 * layout.owned[i].bucket_offset);
    }
  }
}

TEST(WeightLayout, HoldsMatricesInTwoBytesAndVectorsInFourOnSixtyFour) {
  tensor::ParameterStore store;
  fill(store);
  const WeightLayout weights = lay_out_weights(lay_out_bucket(store, 0, 0, 1), Dtype::bf16);
  const std::vector<std::int64_t> expected{0, 7232, 7296, 7296, 27328, 27392};
  EXPECT_EQ(weights.offsets, expected);
  EXPECT_EQ(weights.bytes, 28800);
  EXPECT_EQ(weight_dtype(*store.find("matrix"), Dtype::bf16), Dtype::bf16);
  EXPECT_EQ(weight_dtype(*store.find("row"), Dtype::f16), Dtype::f16);
  EXPECT_EQ(weight_dtype(*store.find("long"), Dtype::bf16), Dtype::f32);
  EXPECT_EQ(weight_dtype(*store.find("scalar"), Dtype::bf16), Dtype::f32);
}

TEST(WeightLayout, GivesEveryByteToTheOwnerOfItsElement) {
  tensor::ParameterStore store;
  fill(store);
  for (int ranks : rank_counts) {
    std::vector<int> owners(28800, 0);
    for (int rank = 0; rank < ranks; ++rank) {
      const BucketLayout layout = lay_out_bucket(store, 0, rank, ranks);
      const WeightLayout weights = lay_out_weights(layout, Dtype::bf16);
      const auto piece = static_cast<std::size_t>(comm::owned_piece(rank, ranks));
      ASSERT_EQ(weights.owned.size(), layout.owned.size());
      for (std::size_t i = 0; i < layout.owned.size(); ++i) {
        const std::int64_t bytes = layout.owned[i].parameter->global_shape.num_dims() == 2 ? 2 : 4;
        const std::int64_t end = weights.owned[i] + layout.owned[i].elements * bytes;
        EXPECT_GE(weights.owned[i], weights.cuts[piece]);
        EXPECT_LE(end, weights.cuts[piece + 1]);
        for (std::int64_t byte = weights.owned[i]; byte < end; ++byte) ++owners[static_cast<std::size_t>(byte)];
      }
    }
    // All but the gaps after the matrix, the pair, `long`, the scalar and the row.
    EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), 7178 + 8 + 20012 + 4 + 1400);
    EXPECT_EQ(std::count(owners.begin(), owners.end(), 0), 54 + 56 + 20 + 60 + 8) << ranks << " ranks";
  }
}

TEST(BucketLayout, OfANumberWithoutParametersIsEmpty) {
  tensor::ParameterStore store;
  store.add(parameter("late", {4}, 2));
  const BucketLayout layout = lay_out_bucket(store, 1, 1, 3);
  EXPECT_EQ(layout.elements, 0);
  EXPECT_EQ(layout.cuts, (comm::Cuts{0, 0, 0, 0}));
  EXPECT_TRUE(layout.owned.empty());
  EXPECT_EQ(layout.own_elements(), 0);
  EXPECT_FALSE(layout.gradient_only());
  EXPECT_FALSE(layout.follows());
}

}  // namespace
}  // namespace trireme::optim
