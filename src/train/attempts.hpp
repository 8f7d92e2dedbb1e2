// attempts.tsv: one line for each time the run was started, and how that ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/base/timer.hpp"

#include "train/save_interval.hpp"

namespace trireme::train {

/// A start of the run and what came of it.
struct Attempt {
  std::int64_t number = 0;        ///< as in metrics.jsonl
  std::int64_t begun_unix_s = 0;  ///< for people only: nothing is reckoned with it
  std::int64_t hosts = 1;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;  ///< saved
  double ran_s = 0;            ///< up to the last save, on the monotonic clock
  std::string end;             ///< `running`, `cut` (it ended without saying so), `finished`, or what stopped it
};

/// How often a job of so many hosts fails: each host as often as one in 264 days (Dubey et al. 2024, `The Llama 3 herd
/// of models`: 419 unexpected interruptions of 2,048 hosts in 54 days), corrected by what the attempts saw. The
/// published rate counts as one failure in its time: the more the run has seen, the less it weighs.
[[nodiscard]] FailureRate failure_rate(const std::vector<Attempt>& attempts, std::int64_t hosts);

/// The attempts of a run folder, this one last. A file that cannot be written costs a warning; lines that cannot be
/// read are dropped.
class Attempts {
 public:
  /// Whoever still was running is cut now: the run's lock is held.
  Attempts(std::string path, const Attempt& current);
  [[nodiscard]] std::vector<Attempt> earlier() const { return {all_.begin(), all_.end() - 1}; }
  void saved(std::int64_t step);
  /// Says how the attempt ended; one that never comes here was cut.
  void ended(const std::string& how);

 private:
  void write() const;

  std::string path_;
  std::vector<Attempt> all_;
  Timer timer_;
};

}  // namespace trireme::train
