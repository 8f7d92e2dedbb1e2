// All that is wrong with a deck, gathered so that the user hears of everything at once.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace trireme::config {

/// One line: `where: subject: what`, e.g. `deck.toml:3: model.width = 0: out of range (must be >= 1)`.
struct Problem {
  std::string where;
  int line = 0;         ///< in the file; command_line_order for overrides, missing_order for what stands nowhere
  std::string subject;  ///< `model.width = 0`; may be empty
  std::string what;     ///< problem (why) suggestion
};

inline constexpr int command_line_order = 1'000'000'000;
inline constexpr int missing_order = 2'000'000'000;

class Problems {
 public:
  void add(Problem problem);
  /// Marks an option whose value cannot be relied on, so that rules across options leave it out.
  void doubt(const std::string& key) { doubtful_.insert(key); }
  [[nodiscard]] bool doubts(const std::string& key) const { return doubtful_.contains(key); }
  [[nodiscard]] bool empty() const noexcept { return problems_.empty(); }
  /// Throws one InputError with a line for each problem, in the order of the file, if there is any.
  void throw_if_any() const;

 private:
  std::vector<Problem> problems_;
  std::set<std::string> doubtful_;
};

}  // namespace trireme::config
