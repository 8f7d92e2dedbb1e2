// Work that all ranks of a job do at the same time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "trireme/comm/communicator.hpp"

#include "bench/measure.hpp"

namespace trireme::bench {

/// Runs `work` on all ranks at once, again and again behind a barrier, at least five times and until a rank has spent
/// `budget_s`; a first time does not count. The seconds of this rank. Collective.
[[nodiscard]] Timing time_together(comm::Communicator& world, double budget_s, const std::function<void()>& work);

/// What one piece of work took on the ranks that did it.
struct OverRanks {
  std::string what;
  double amount = 0;    ///< bytes or FLOP of one rank
  int num_ranks = 0;    ///< that did it; without any, the times mean nothing
  double min_s = 0;     ///< of the ranks' medians
  double median_s = 0;  ///< of the ranks' medians
  double max_s = 0;     ///< of the ranks' medians
  double spread = 0;    ///< the largest of a rank
  int slowest_rank = 0;

  [[nodiscard]] double rate() const { return amount / median_s; }  ///< of the middle rank
};

/// From each rank's timing; no repeats: that rank had no part.
[[nodiscard]] OverRanks over_ranks(std::string what, double amount, const std::vector<Timing>& timings);

/// The same on every rank, from what each has measured. Collective.
[[nodiscard]] OverRanks gather(comm::Communicator& world, std::string what, double amount, const Timing& mine);

/// `4 ranks on 2 hosts`.
[[nodiscard]] std::string job_text(const std::vector<int>& hosts);

/// A line each, with the name of the slowest rank's host.
[[nodiscard]] std::string table_of_bytes(const std::vector<OverRanks>& lines,
                                         const std::vector<std::string>& host_names);

/// An array of one object each.
[[nodiscard]] nlohmann::ordered_json json_of_bytes(const std::vector<OverRanks>& lines);

}  // namespace trireme::bench
