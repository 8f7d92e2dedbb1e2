// Intervals on the monotonic clock.
#pragma once

#include <chrono>

namespace trireme {

/// Seconds since construction or the last restart(); never disturbed by a change of the wall clock.
class Timer {
 public:
  Timer() : start_(Clock::now()) {}
  void restart() { start_ = Clock::now(); }
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
};

}  // namespace trireme
