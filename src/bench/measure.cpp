#include "bench/measure.hpp"

#include <algorithm>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/timer.hpp"

namespace trireme::bench {

namespace {

constexpr int min_rounds = 5;
constexpr double turn_s = 0.02;  // short work is repeated within its turn

double at_fraction(const std::vector<double>& sorted, double fraction) {
  return sorted[static_cast<std::size_t>(fraction * static_cast<double>(sorted.size() - 1) + 0.5)];
}

void take_turn(const Row& row, std::vector<double>& times_s) {
  // The row before has had the caches, which long work fills by itself; the first time makes what a shape needs.
  if (times_s.empty() || times_s.back() < turn_s) row.work();
  const Timer turn;
  do {
    const Timer timer;
    row.work();
    times_s.push_back(timer.seconds());
  } while (turn.seconds() < turn_s);
}

}  // namespace

Timing summarize(std::vector<double> times_s) {
  TRIREME_EXPECT(!times_s.empty());
  std::sort(times_s.begin(), times_s.end());
  const double median_s = at_fraction(times_s, 0.5);
  return {.median_s = median_s,
          .best_s = times_s.front(),
          .spread = (at_fraction(times_s, 0.75) - at_fraction(times_s, 0.25)) / median_s,
          .repeats = static_cast<int>(times_s.size())};
}

void measure_in_turns(std::vector<Row>& rows, double budget_s) {
  std::vector<std::vector<double>> times_s(rows.size());
  const Timer total;
  const double total_budget_s = budget_s * static_cast<double>(rows.size());
  for (int round = 0; round < min_rounds || total.seconds() < total_budget_s; ++round) {
    for (std::size_t i = 0; i < rows.size(); ++i) take_turn(rows[i], times_s[i]);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].timing = summarize(std::move(times_s[i]));
}

}  // namespace trireme::bench
