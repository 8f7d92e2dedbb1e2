// A few combinations that stand for all: every pair of choices comes together in one of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace trireme::testing {

/// Something that is chosen, with its choices.
struct Factor {
  std::string name;
  std::vector<std::string> choices;
};

/// One choice for each factor.
class Combination {
 public:
  Combination(const std::vector<Factor>& factors, std::vector<int> chosen);
  [[nodiscard]] const std::string& operator[](const std::string& factor) const { return values_.at(factor); }
  [[nodiscard]] int number(const std::string& factor) const { return std::stoi(values_.at(factor)); }
  /// Indices of the choices, in the order of the factors.
  [[nodiscard]] const std::vector<int>& chosen() const noexcept { return chosen_; }

 private:
  std::vector<int> chosen_;
  std::map<std::string, std::string> values_;
};

/// Legal combinations that hold every pair of choices which any legal one can hold, then more until there are
/// `num_combinations`, which cover the pairs again. Greedy; the same at each call.
[[nodiscard]] std::vector<Combination> cover_pairs(const std::vector<Factor>& factors,
                                                   const std::function<bool(const Combination&)>& is_legal,
                                                   std::size_t num_combinations);

/// All legal combinations, the last factor fastest.
[[nodiscard]] std::vector<Combination> all_combinations(const std::vector<Factor>& factors,
                                                        const std::function<bool(const Combination&)>& is_legal);

}  // namespace trireme::testing
