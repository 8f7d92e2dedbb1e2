#include "checkpoint/tiles.hpp"

#include <set>

#include <gtest/gtest.h>

namespace trireme::checkpoint {
namespace {

TEST(Tiles, APieceUpToOneMebibyteIsOneTile) {
  EXPECT_EQ(tile_extent({512, 512}, Dtype::f32), (Shape{512, 512}));
  EXPECT_EQ(tile_extent({1 << 20}, Dtype::u8), (Shape{1 << 20}));
  EXPECT_EQ(tile_extent({1}, Dtype::f64), (Shape{1}));
}

TEST(Tiles, LongRowsAreCutEvenlyAndWasteLittle) {
  for (const Shape& piece : {Shape{50257, 768}, Shape{769, 3079}, Shape{300007}, Shape{1, 300007}, Shape{70001, 4},
                             Shape{3, 700, 5, 1031}}) {
    const Shape tile = tile_extent(piece, Dtype::f32);
    EXPECT_LE(tile.size() * 4, tile_bytes) << piece.text();
    EXPECT_GE(tile.size() * 4, tile_bytes / 4) << piece.text();
    if (piece.rows() > 1) {
      EXPECT_LE(tile.columns(), tile_columns) << piece.text();
    }
    const TileGrid tiles(tensor::whole(piece), tile);
    EXPECT_LT(static_cast<double>(tiles.count() * tile.size()), 1.02 * static_cast<double>(piece.size()) + 1)
        << piece.text();
  }
}

TEST(Tiles, EveryElementLiesInOneTileAndTouchingFindsIt) {
  const Shard piece{{3, 5}, {7, 11}};
  const TileGrid tiles(piece, {3, 4});
  EXPECT_EQ(tiles.count(), 9);
  std::set<std::int64_t> seen;
  for (std::int64_t row = 3; row < 10; ++row) {
    for (std::int64_t column = 5; column < 16; ++column) {
      const auto found = tiles.touching({{row, column}, {1, 1}});
      ASSERT_EQ(found.size(), 1U);
      EXPECT_TRUE(intersect(tiles.inner(found[0]), {{row, column}, {1, 1}}));
      seen.insert(found[0]);
    }
  }
  EXPECT_EQ(seen.size(), 9U);
  EXPECT_EQ(tiles.touching({{0, 0}, {100, 100}}).size(), 9U);
  EXPECT_EQ(tiles.touching({{0, 0}, {3, 100}}).size(), 0U);
  EXPECT_EQ(tiles.padded(8), (Shard{{9, 13}, {3, 4}}));
  EXPECT_EQ(tiles.inner(8), (Shard{{9, 13}, {1, 3}}));
}

TEST(Tiles, TheHashDependsOnSaveTensorPlaceAndBytes) {
  const float data = 1;
  const auto hash = [&](const char* id, const char* name, const Shape& at, float value) {
    return hash_tile(id, name, {10, 10}, {at, {1, 1}}, &value, sizeof value);
  };
  const io::Hash128 right = hash("id", "weights/a", {1, 2}, data);
  EXPECT_EQ(right, hash("id", "weights/a", {1, 2}, data));
  EXPECT_NE(right, hash("ie", "weights/a", {1, 2}, data));
  EXPECT_NE(right, hash("id", "weights/b", {1, 2}, data));
  EXPECT_NE(right, hash("id", "weights/a", {2, 1}, data));
  EXPECT_NE(right, hash("id", "weights/a", {1, 2}, -data));
}

}  // namespace
}  // namespace trireme::checkpoint
