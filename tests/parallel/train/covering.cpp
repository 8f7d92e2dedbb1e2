#include "parallel/train/covering.hpp"

#include <array>
#include <optional>
#include <set>

#include "support/array.hpp"

namespace trireme::testing {
namespace {

using IsLegal = std::function<bool(const Combination&)>;

/// Two factors and a choice of each.
using Pair = std::array<int, 4>;

std::vector<Pair> pairs_of(const std::vector<int>& chosen) {
  std::vector<Pair> pairs;
  for (int a = 0; a < static_cast<int>(chosen.size()); ++a) {
    for (int b = a + 1; b < static_cast<int>(chosen.size()); ++b) {
      pairs.push_back({a, chosen[static_cast<std::size_t>(a)], b, chosen[static_cast<std::size_t>(b)]});
    }
  }
  return pairs;
}

std::set<Pair> all_pairs(const std::vector<Factor>& factors) {
  const auto num_choices = [&](int factor) {
    return static_cast<int>(factors[static_cast<std::size_t>(factor)].choices.size());
  };
  std::set<Pair> pairs;
  for (int a = 0; a < static_cast<int>(factors.size()); ++a) {
    for (int b = a + 1; b < static_cast<int>(factors.size()); ++b) {
      for (int i = 0; i < num_choices(a); ++i) {
        for (int j = 0; j < num_choices(b); ++j) pairs.insert({a, i, b, j});
      }
    }
  }
  return pairs;
}

/// Draws combinations that hold a given pair and are legal.
class Drawer {
 public:
  Drawer(const std::vector<Factor>& factors, const IsLegal& is_legal) : factors_(factors), is_legal_(is_legal) {}

  std::optional<Combination> draw(const Pair& pair) {
    constexpr int tries = 4000;  // a pair that is never legal in so many is taken to be impossible
    for (int i = 0; i < tries; ++i) {
      std::vector<int> chosen;
      for (const Factor& factor : factors_) {
        chosen.push_back(static_cast<int>(numbers_.next(0, static_cast<double>(factor.choices.size()))));
      }
      chosen[static_cast<std::size_t>(pair[0])] = pair[1];
      chosen[static_cast<std::size_t>(pair[2])] = pair[3];
      Combination combination(factors_, chosen);
      if (is_legal_(combination)) return combination;
    }
    return std::nullopt;
  }

 private:
  const std::vector<Factor>& factors_;
  const IsLegal& is_legal_;
  test::Numbers numbers_{1};
};

std::size_t count_new(const Combination& combination, const std::set<Pair>& uncovered) {
  std::size_t count = 0;
  for (const Pair& pair : pairs_of(combination.chosen())) count += uncovered.count(pair);
  return count;
}

}  // namespace

Combination::Combination(const std::vector<Factor>& factors, std::vector<int> chosen) : chosen_(std::move(chosen)) {
  for (std::size_t i = 0; i < factors.size(); ++i) {
    values_[factors[i].name] = factors[i].choices.at(static_cast<std::size_t>(chosen_[i]));
  }
}

std::vector<Combination> cover_pairs(const std::vector<Factor>& factors, const IsLegal& is_legal,
                                     std::size_t num_combinations) {
  constexpr int candidates = 30;
  Drawer drawer(factors, is_legal);
  std::vector<Combination> combinations;
  std::set<Pair> possible;
  std::set<Pair> uncovered = all_pairs(factors);
  bool covered_once = false;
  while (true) {
    if (uncovered.empty()) {
      uncovered = possible;
      covered_once = true;
    }
    if (covered_once && combinations.size() >= num_combinations) return combinations;
    const Pair pair = *uncovered.begin();
    std::optional<Combination> best = drawer.draw(pair);
    if (!best) {
      uncovered.erase(pair);
      continue;
    }
    for (int i = 1; i < candidates; ++i) {
      std::optional<Combination> other = drawer.draw(pair);
      if (other && count_new(*other, uncovered) > count_new(*best, uncovered)) best = std::move(other);
    }
    for (const Pair& covered : pairs_of(best->chosen())) {
      uncovered.erase(covered);
      possible.insert(covered);
    }
    combinations.push_back(std::move(*best));
  }
}

std::vector<Combination> all_combinations(const std::vector<Factor>& factors, const IsLegal& is_legal) {
  std::vector<Combination> combinations;
  std::vector<int> chosen(factors.size(), 0);
  while (true) {
    Combination combination(factors, chosen);
    if (is_legal(combination)) combinations.push_back(std::move(combination));
    std::size_t factor = factors.size();
    while (factor > 0 && chosen[factor - 1] + 1 == static_cast<int>(factors[factor - 1].choices.size())) {
      chosen[--factor] = 0;
    }
    if (factor == 0) return combinations;
    ++chosen[factor - 1];
  }
}

}  // namespace trireme::testing
