#include "checkpoint/plan.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/comm/tree.hpp"

#include "unit/checkpoint/sample.hpp"

namespace trireme::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string problem_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string piece_text(const std::string& name, const Shape& shape, const Shard& rectangle, Dtype dtype = Dtype::f32) {
  const Piece piece{name, shape, dtype, rectangle, nullptr};
  return describe({&piece, 1});
}

/// Descriptions of ranks that hold flat cuts of one matrix.
std::vector<std::string> flat_ranks(const Shape& shape, int num_ranks) {
  std::vector<std::string> descriptions;
  for (std::int64_t rank = 0; rank < num_ranks; ++rank) {
    std::string text;
    for (const Shard& part :
         test::cut_flat(shape, shape.size() * rank / num_ranks, shape.size() * (rank + 1) / num_ranks)) {
      text += piece_text("weights/a", shape, part);
    }
    descriptions.push_back(text);
  }
  return descriptions;
}

TEST(Plan, EachRankWritesItsOwnFile) {
  const Plan plan = make_plan(flat_ranks({12, 5}, 4), 1);
  EXPECT_EQ(plan.num_shards(), 4);
  EXPECT_EQ(plan.writer_of(3), 3);
  EXPECT_EQ(plan.payload_bytes, 240U);
  ASSERT_EQ(plan.pieces.size(), 4U);
  EXPECT_EQ(plan.pieces[2].rectangle, (Shard{{6, 0}, {3, 5}}));
}

TEST(Plan, RanksOfAGroupShareAFileAndJoinTheirPieces) {
  const Plan plan = make_plan(flat_ranks({13, 7}, 5), 2);
  EXPECT_EQ(plan.num_shards(), 3);
  EXPECT_EQ(plan.shard_of(4), 2);
  EXPECT_EQ(plan.writer_of(1), 2);
  for (const StoredPiece& piece : plan.pieces) EXPECT_LT(piece.number, 3);
}

TEST(Plan, RanksOfAHostShareAFileWhereverTheyHaveTheirPlaces) {
  const std::vector<std::int32_t> hosts{0, 1, 0, 1, 4};  // of each rank its host's lowest
  const Plan plan = make_plan(flat_ranks({25, 8}, 5), ranks_of_a_node, hosts);
  EXPECT_EQ(plan.groups, (std::vector<std::vector<int>>{{0, 2}, {1, 3}, {4}}));
  EXPECT_EQ(make_plan(flat_ranks({25, 8}, 5), 1, hosts).num_shards(), 5);
}

TEST(Plan, OfManyHostsWholeOnesShareAFileUntilATensorHasFewPieces) {
  constexpr int num_ranks = 1200;
  std::vector<std::int32_t> hosts;
  for (int rank = 0; rank < num_ranks; ++rank) hosts.push_back(rank / 8 * 8);
  const Plan plan = make_plan(flat_ranks({1021, 769}, num_ranks), ranks_of_a_node, hosts);
  EXPECT_GT(plan.units_per_file, 1);
  EXPECT_GT(plan.num_shards(), 10);
  EXPECT_LE(plan.pieces.size(), max_pieces_per_tensor);
  for (int rank = 0; rank < num_ranks; ++rank) EXPECT_EQ(plan.shard_of(rank), plan.shard_of(rank / 8 * 8));
}

TEST(Plan, ManyRanksAreGroupedUntilATensorHasFewPieces) {
  for (const int num_ranks : {65, 300, 1000}) {
    const Plan plan = make_plan(flat_ranks({1021, 769}, num_ranks), 1);
    EXPECT_GT(plan.units_per_file, 1);
    EXPECT_LE(plan.pieces.size(), max_pieces_per_tensor) << num_ranks;
    std::vector<Shard> rectangles;
    for (const StoredPiece& piece : plan.pieces) rectangles.push_back(piece.rectangle);
    EXPECT_EQ(cover_problem({1021, 769}, rectangles), "");
  }
}

/// A grid of tensor x data ranks a stage, neighbours along tensor. Each data rank holds the own piece of every bucket.
struct Grid {
  int tensor = 1, data = 1, stages = 1;
  [[nodiscard]] int size() const { return tensor * data * stages; }
};

/// The rows of piece `piece` of a bucket whose entries have `rows` rows each, one after the other.
std::string bucket_text(const std::vector<std::string>& names, const Shape& shape, const Shard& shard,
                        std::int64_t piece, std::int64_t num_pieces) {
  const std::int64_t rows = shard.extent[0];
  const auto all = static_cast<std::int64_t>(names.size()) * rows;
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t offset = static_cast<std::int64_t>(i) * rows;
    const std::int64_t begin = std::clamp<std::int64_t>(all * piece / num_pieces - offset, 0, rows);
    const std::int64_t end = std::clamp<std::int64_t>(all * (piece + 1) / num_pieces - offset, 0, rows);
    if (begin == end) continue;
    Shard part = shard;
    part.offset[0] += begin;
    part.extent[0] = end - begin;
    text += piece_text(names[i], shape, part);
  }
  return text;
}

std::vector<std::string> ranks_of(const Grid& grid) {
  const Shape by_rows{std::int64_t{1031} * grid.tensor, 7};
  const Shape by_columns{1031, std::int64_t{7} * grid.tensor};
  std::vector<std::string> descriptions;
  for (int rank = 0; rank < grid.size(); ++rank) {
    const std::int64_t t = rank % grid.tensor;
    const int data = rank / grid.tensor % grid.data;
    const std::string stage = std::to_string(rank / grid.tensor / grid.data);
    const std::int64_t piece = comm::owned_piece(data, grid.data);
    const Shard rows{{1031 * t, 0}, {1031, 7}};
    const Shard columns{{0, 7 * t}, {1031, 7}};
    descriptions.push_back(
        bucket_text({"weights/query" + stage, "weights/key" + stage}, by_rows, rows, piece, grid.data) +
        bucket_text({"weights/up" + stage, "weights/down" + stage}, by_columns, columns, piece, grid.data) +
        bucket_text({"weights/table" + stage}, by_rows, rows, piece, grid.data));
  }
  return descriptions;
}

std::map<std::int64_t, std::vector<Shard>> rectangles_by_tensor(const Plan& plan) {
  std::map<std::int64_t, std::vector<Shard>> rectangles;
  for (const StoredPiece& piece : plan.pieces) rectangles[piece.tensor].push_back(piece.rectangle);
  return rectangles;
}

TEST(Plan, KeepsManyFilesWhereADataAxisHoldsItsPiecesInTheOrderOfReversedBits) {
  for (const Grid& grid : {Grid{.data = 64}, Grid{.data = 128}, Grid{.tensor = 4, .data = 32},
                           Grid{.tensor = 8, .data = 128}, Grid{.data = 128, .stages = 2}}) {
    const Plan plan = make_plan(ranks_of(grid), 1);
    SCOPED_TRACE(fmt::format("{} x {} x {}", grid.data, grid.tensor, grid.stages));
    EXPECT_EQ(plan.num_shards(), 64 * grid.stages);
    for (const auto& [tensor, rectangles] : rectangles_by_tensor(plan)) {
      EXPECT_LE(rectangles.size(), max_pieces_per_tensor);
      EXPECT_EQ(cover_problem(plan.tensors[static_cast<std::size_t>(tensor)].shape, rectangles), "");
    }
  }
}

TEST(Plan, WritersAreSpreadOverTheHosts) {
  constexpr int ranks_per_host = 8;
  const Plan plan = make_plan(ranks_of({.data = 128}), 1);
  std::vector<int> writers(128 / ranks_per_host);
  for (std::int64_t shard = 0; shard < plan.num_shards(); ++shard) {
    ++writers[static_cast<std::size_t>(plan.writer_of(shard) / ranks_per_host)];
  }
  EXPECT_THAT(writers, testing::Each(4));
}

TEST(Plan, ShardsOfOneRankEachHaveTheNumbersOfTheirRanks) {
  const Plan plan = make_plan(ranks_of({.data = 16}), 1);
  for (int rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(plan.shard_of(rank), rank);
    EXPECT_EQ(plan.writer_of(rank), rank);
  }
}

TEST(Plan, PartsOfRanksThatAreNoNeighboursSayTogetherWhatThePlanSays) {
  const Plan plan = make_plan(ranks_of({.tensor = 2, .data = 8}), 4);
  EXPECT_EQ(plan.num_shards(), 4);
  std::size_t num_sources = 0;
  std::size_t num_pieces = 0;
  for (int rank = 0; rank < 16; ++rank) {
    const PlanPart part = parse_part(text_of(part_of(plan, rank)));
    EXPECT_EQ(part.shard, plan.shard_of(rank));
    for (const SourcePiece& source : part.sources) EXPECT_EQ(plan.shard_of(source.rank), part.shard);
    if (rank != part.writer) continue;
    num_sources += part.sources.size();
    num_pieces += part.pieces.size();
  }
  EXPECT_EQ(num_sources, plan.sources.size());
  EXPECT_EQ(num_pieces, plan.pieces.size());
}

TEST(Plan, PartsSayTogetherWhatThePlanSaysAndNoMoreThanTheirRanksNeed) {
  const Shape shape{1021, 769};
  for (const auto& [num_ranks, ranks_per_file] : {std::pair{1, 1}, {5, 2}, {7, 3}, {65, 1}, {300, 1}}) {
    const Plan plan = make_plan(flat_ranks(shape, num_ranks), ranks_per_file);
    std::size_t num_pieces = 0;
    std::vector<Shard> in_memory;
    for (int rank = 0; rank < num_ranks; ++rank) {
      const PlanPart part = parse_part(text_of(part_of(plan, rank)));
      EXPECT_EQ(part.writer, plan.writer_of(plan.shard_of(rank)));
      EXPECT_EQ(part.payload_bytes, plan.payload_bytes);
      for (const StoredPiece& piece : part.pieces) EXPECT_FALSE(part.sources_of(piece).empty());
      if (rank == part.writer) {
        num_pieces += part.pieces.size();
        for (const SourcePiece& source : part.sources) in_memory.push_back(source.rectangle);
        EXPECT_LE(part.sources.size(), 3U * static_cast<std::size_t>(plan.units_per_file));
      } else {
        for (const SourcePiece& source : part.sources) EXPECT_EQ(source.rank, rank);
        EXPECT_LE(part.sources.size(), 3U);
        EXPECT_LE(part.pieces.size(), 6U);
      }
    }
    EXPECT_EQ(num_pieces, plan.pieces.size());
    EXPECT_EQ(cover_problem(shape, in_memory), "") << num_ranks;
  }
}

TEST(Plan, ARankThatHoldsNothingHasAnEmptyPart) {
  const Plan plan = make_plan({piece_text("weights/a", {4}, {{0}, {4}}), ""}, 1);
  const PlanPart part = parse_part(text_of(part_of(plan, 1)));
  EXPECT_TRUE(part.tensors.empty() && part.sources.empty() && part.pieces.empty());
  EXPECT_EQ(part.largest_tile(), 0U);
}

TEST(Plan, OneFileForAllHoldsAPinwheelWhole) {
  const Shape shape{3, 3};
  std::string text;
  for (const Shard& part : {Shard{{0, 0}, {1, 2}}, Shard{{0, 2}, {2, 1}}, Shard{{2, 1}, {1, 2}}, Shard{{1, 0}, {2, 1}},
                            Shard{{1, 1}, {1, 1}}}) {
    text += piece_text("weights/a", shape, part);
  }
  const Plan plan = make_plan({text}, 1);
  ASSERT_EQ(plan.pieces.size(), 1U);
  EXPECT_EQ(plan.pieces[0].rectangle, tensor::whole(shape));
}

TEST(Plan, RefusesTensorsNotGivenExactlyOnce) {
  const std::string whole = piece_text("weights/a", {4}, {{0}, {4}});
  EXPECT_THAT(problem_of([&] {
                static_cast<void>(make_plan({whole, whole}, 1));
              }),
              AllOf(HasSubstr("`weights/a`"), HasSubstr("overlap")));
  EXPECT_THAT(problem_of([&] {
                static_cast<void>(make_plan({piece_text("weights/a", {4}, {{0}, {3}})}, 1));
              }),
              AllOf(HasSubstr("`weights/a`"), HasSubstr("3 of 4")));
  EXPECT_THAT(
      problem_of([&] {
        static_cast<void>(make_plan(
            {piece_text("weights/a", {4}, {{0}, {2}}), piece_text("weights/a", {4}, {{2}, {2}}, Dtype::f64)}, 1));
      }),
      AllOf(HasSubstr("rank 1"), HasSubstr("fp64")));
}

TEST(Plan, RefusesNamesAndShapesThatCannotBeStored) {
  for (const char* name : {"weights/", "weight/a", "weights/a/b", "weights/..", "moments/first/", "weights/a b", ""}) {
    EXPECT_NE(problem_of([&] { static_cast<void>(make_plan({piece_text(name, {1}, {{0}, {1}})}, 1)); }), "") << name;
  }
  const Shape long_vector{(std::int64_t{1} << 31) + 1};
  EXPECT_NE(tensor_problem({"weights/a", long_vector, Dtype::f32}), "");
  EXPECT_NE(tensor_problem({"weights/a", {0, 5}, Dtype::f32}), "");
  EXPECT_NE(tensor_problem({"weights/a", {std::int64_t{1} << 32, std::int64_t{1} << 32}, Dtype::f32}), "");
}

}  // namespace
}  // namespace trireme::checkpoint
