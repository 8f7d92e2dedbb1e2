#include "bench/together.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"
#include "trireme/base/timer.hpp"
#include "trireme/base/units.hpp"

#include "bench/partners.hpp"

namespace trireme::bench {

namespace {

constexpr std::size_t min_repeats = 5;
constexpr double giga = 1e9;
constexpr double micro = 1e-6;
constexpr double percent = 100;

}  // namespace

Timing time_together(comm::Communicator& world, double budget_s, const std::function<void()>& work) {
  work();
  std::vector<double> times_s;
  const Timer total;
  do {
    world.barrier();
    const Timer timer;
    work();
    times_s.push_back(timer.seconds());
  } while (times_s.size() < min_repeats || world.all_reduce_max(total.seconds()) < budget_s);
  return summarize(std::move(times_s));
}

OverRanks over_ranks(std::string what, double amount, const std::vector<Timing>& timings) {
  OverRanks all{.what = std::move(what), .amount = amount};
  std::vector<double> medians_s;
  for (std::size_t rank = 0; rank < timings.size(); ++rank) {
    const Timing& timing = timings[rank];
    if (timing.repeats == 0) continue;
    medians_s.push_back(timing.median_s);
    all.spread = std::max(all.spread, timing.spread);
    if (timing.median_s > all.max_s) {
      all.max_s = timing.median_s;
      all.slowest_rank = static_cast<int>(rank);
    }
  }
  all.num_ranks = static_cast<int>(medians_s.size());
  if (medians_s.empty()) return all;
  const Timing middle = summarize(std::move(medians_s));
  all.min_s = middle.best_s;
  all.median_s = middle.median_s;
  return all;
}

OverRanks gather(comm::Communicator& world, std::string what, double amount, const Timing& mine) {
  std::vector<Timing> timings(static_cast<std::size_t>(world.size()));
  world.all_gather(&mine, sizeof mine, timings.data());
  return over_ranks(std::move(what), amount, timings);
}

std::string job_text(const std::vector<int>& hosts) {
  return fmt::format("{} on {}", counted(hosts.size(), "rank"),
                     counted(static_cast<std::uint64_t>(num_hosts(hosts)), "host"));
}

std::string table_of_bytes(const std::vector<OverRanks>& lines, const std::vector<std::string>& host_names) {
  std::string text =
      fmt::format("{:<25} {:>10} {:>6} {:>11} {:>11} {:>11} {:>8} {:>8} {:>8}  {}\n", "", "a rank", "ranks",
                  "fastest us", "median us", "slowest us", "spread", "GB/s", "all GB/s", "slowest rank");
  for (const OverRanks& line : lines) {
    text += fmt::format("{:<25} {:>10} {:>6} {:>11.2f} {:>11.2f} {:>11.2f} {:>6.1f} % {:>8.3g} {:>8.3g}  {} ({})\n",
                        line.what, format_bytes(static_cast<std::uint64_t>(line.amount)), line.num_ranks,
                        line.min_s / micro, line.median_s / micro, line.max_s / micro, line.spread * percent,
                        line.rate() / giga, line.num_ranks * line.amount / line.max_s / giga, line.slowest_rank,
                        host_names[static_cast<std::size_t>(line.slowest_rank)]);
  }
  return text;
}

nlohmann::ordered_json json_of_bytes(const std::vector<OverRanks>& lines) {
  auto json = nlohmann::ordered_json::array();
  for (const OverRanks& line : lines) {
    json.push_back({{"what", line.what},
                    {"bytes", line.amount},
                    {"ranks", line.num_ranks},
                    {"min_s", line.min_s},
                    {"median_s", line.median_s},
                    {"max_s", line.max_s},
                    {"spread", line.spread},
                    {"bytes_per_s", line.rate()},
                    {"slowest_rank", line.slowest_rank}});
  }
  return json;
}

}  // namespace trireme::bench
