// Repeats pieces of work in turns and keeps the times.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trireme/base/dtype.hpp"

namespace trireme::bench {

struct Timing {
  double median_s = 0;
  double best_s = 0;
  double spread = 0;  ///< distance of the quartiles over the median
  int repeats = 0;
};

/// One piece of work, what it costs at least, and how long it took.
struct Row {
  std::string kernel;
  std::string shape;
  Dtype dtype = Dtype::f32;  ///< of the operands
  double flop = 0;
  double bytes = 0;
  std::function<void()> work;
  Timing timing;
};

/// Median, best and spread of times in seconds, in any order; at least one.
[[nodiscard]] Timing summarize(std::vector<double> times_s);

/// Runs all rows one after the other, again and again, until each has had about `budget_s` (at least five rounds), and
/// sets their timings. In turns, because the load and the clock of a machine change: all rows see the same changes, and
/// their ratios are fair.
void measure_in_turns(std::vector<Row>& rows, double budget_s);

}  // namespace trireme::bench
