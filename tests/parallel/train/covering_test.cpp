#include "parallel/train/covering.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <gtest/gtest.h>

namespace trireme::testing {
namespace {

std::set<std::array<int, 4>> pairs_in(const std::vector<Combination>& combinations) {
  std::set<std::array<int, 4>> pairs;
  for (const Combination& combination : combinations) {
    const std::vector<int>& chosen = combination.chosen();
    for (std::size_t a = 0; a < chosen.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b)
        pairs.insert({static_cast<int>(b), chosen[b], static_cast<int>(a), chosen[a]});
    }
  }
  return pairs;
}

TEST(Covering, HoldsEveryLegalPairInFewCombinations) {
  const std::vector<Factor> factors{{"a", {"1", "2", "4", "8"}},
                                    {"b", {"1", "2", "4"}},
                                    {"c", {"1", "2", "3", "4", "5"}},
                                    {"d", {"0", "1"}},
                                    {"e", {"0", "1", "2"}}};
  const auto is_legal = [](const Combination& c) { return c.number("a") * c.number("b") * c.number("c") <= 8; };
  const std::vector<Combination> all = all_combinations(factors, is_legal);
  const std::vector<Combination> few = cover_pairs(factors, is_legal, 0);
  EXPECT_TRUE(std::all_of(few.begin(), few.end(), is_legal));
  EXPECT_EQ(pairs_in(few), pairs_in(all));
  EXPECT_LT(few.size(), all.size() / 2);
  EXPECT_EQ(cover_pairs(factors, is_legal, 50).size(), 50U);
}

TEST(Covering, CountsAllLegalCombinationsOnce) {
  const std::vector<Factor> factors{{"a", {"1", "2", "3"}}, {"b", {"1", "2"}}};
  const auto is_legal = [](const Combination& c) { return c["a"] != c["b"]; };
  std::set<std::vector<int>> different;
  for (const Combination& c : all_combinations(factors, is_legal)) different.insert(c.chosen());
  EXPECT_EQ(different, (std::set<std::vector<int>>{{0, 1}, {1, 0}, {2, 0}, {2, 1}}));
}

}  // namespace
}  // namespace trireme::testing
