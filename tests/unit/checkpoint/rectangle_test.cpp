#include "checkpoint/rectangle.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/checkpoint/sample.hpp"

namespace trireme::checkpoint {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Rectangle, IntersectsOnlyWhereBothHaveElements) {
  const Shard a{{2, 3}, {4, 5}};
  EXPECT_EQ(intersect(a, {{5, 0}, {9, 4}}), (Shard{{5, 3}, {1, 1}}));
  EXPECT_EQ(intersect(a, {{6, 3}, {1, 1}}), std::nullopt);
  EXPECT_EQ(intersect(a, {{2, 3}, {0, 5}}), std::nullopt);
}

TEST(Rectangle, IsInsideOnlyWithoutOverflow) {
  EXPECT_TRUE(is_inside({{2}, {3}}, {5}));
  EXPECT_FALSE(is_inside({{3}, {3}}, {5}));
  EXPECT_FALSE(is_inside({{-1}, {3}}, {5}));
  EXPECT_FALSE(is_inside({{INT64_MAX}, {3}}, {5}));
  EXPECT_FALSE(is_inside({{0, 0}, {1, 1}}, {5}));
}

TEST(Rectangle, CopiesAPartBetweenBuffersOfFourDimensions) {
  const Shard source{{1, 0, 2, 3}, {2, 3, 4, 5}};
  const Shard target{{0, 1, 0, 4}, {5, 2, 6, 3}};
  const Shard part = *intersect(source, target);
  std::vector<int> from(static_cast<std::size_t>(source.extent.size()));
  std::iota(from.begin(), from.end(), 1);
  std::vector<int> to(static_cast<std::size_t>(target.extent.size()));
  copy_rectangle(part, source, from.data(), target, to.data(), sizeof(int));
  std::int64_t copied = 0;
  const auto at = [](const Shard& r, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return static_cast<std::size_t>(
        (((a - r.offset[0]) * r.extent[1] + b - r.offset[1]) * r.extent[2] + c - r.offset[2]) * r.extent[3] + d -
        r.offset[3]);
  };
  for (std::int64_t a = 0; a < 5; ++a) {
    for (std::int64_t b = 1; b < 3; ++b) {
      for (std::int64_t c = 0; c < 6; ++c) {
        for (std::int64_t d = 4; d < 7; ++d) {
          const bool inside = intersect({{a, b, c, d}, {1, 1, 1, 1}}, part).has_value();
          EXPECT_EQ(to[at(target, a, b, c, d)], inside ? from[at(source, a, b, c, d)] : 0);
          copied += inside ? 1 : 0;
        }
      }
    }
  }
  EXPECT_EQ(copied, part.extent.size());
}

TEST(Rectangle, FlatCutsOfNeighbouringRanksJoinToOne) {
  const Shape shape{13, 7};
  std::vector<Shard> parts;
  for (int rank = 0; rank < 5; ++rank) {
    for (const Shard& part : test::cut_flat(shape, 91 * rank / 5, 91 * (rank + 1) / 5)) parts.push_back(part);
  }
  EXPECT_GT(parts.size(), 8U);
  EXPECT_THAT(cover_problem(shape, parts), IsEmpty());
  EXPECT_EQ(join_neighbours(parts), std::vector<Shard>{tensor::whole(shape)});
}

TEST(Rectangle, DoesNotJoinWhatOnlyTouches) {
  const std::vector<Shard> parts{{{0, 0}, {2, 2}}, {{2, 0}, {2, 3}}};
  EXPECT_EQ(join_neighbours(parts), parts);
}

TEST(Rectangle, NamesOverlapsAndHoles) {
  EXPECT_THAT(cover_problem({4}, {{{0}, {3}}, {{2}, {2}}}), HasSubstr("overlap"));
  EXPECT_THAT(cover_problem({4}, {{{0}, {3}}}), HasSubstr("3 of 4"));
  EXPECT_THAT(cover_problem({4}, {{{0}, {5}}}), HasSubstr("leaves"));
  EXPECT_THAT(cover_problem({4, 4}, {{{0, 0}, {4, 2}}, {{1, 2}, {3, 2}}, {{0, 3}, {1, 1}}, {{1, 1}, {1, 1}}}),
              HasSubstr("overlap"));
  EXPECT_THAT(cover_problem({4}, {{{2}, {2}}, {{0}, {2}}}), IsEmpty());
}

}  // namespace
}  // namespace trireme::checkpoint
