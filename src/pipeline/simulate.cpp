#include "trireme/pipeline/simulate.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/pipeline/slots.hpp"

#include "pipeline/walk.hpp"

namespace trireme::pipeline {
namespace {

struct Work {
  double begin_s = 0;  ///< of the first compute action
  double end_s = 0;    ///< of the last
  double busy_s = 0;
};

Work work_of(const std::vector<SimulatedEvent>& events) {
  Work work;
  bool any = false;
  for (const SimulatedEvent& event : events) {
    if (!is_compute(event.action.kind)) continue;
    if (!any) work.begin_s = event.begin_s;
    any = true;
    work.end_s = event.end_s;
    work.busy_s += event.end_s - event.begin_s;
  }
  return work;
}

}  // namespace

Timing uniform_timing(const Schedule& schedule, const Durations& durations, double transfer_s) {
  const std::vector<Durations> stage(static_cast<std::size_t>(schedule.chunks), durations);
  return {std::vector<std::vector<Durations>>(static_cast<std::size_t>(schedule.stages), stage), transfer_s};
}

Simulation simulate(const Schedule& schedule, const Timing& timing) {
  Simulation result;
  std::vector<Work> works;
  const std::vector<std::vector<SimulatedEvent>> events = walk(schedule, timing);
  for (std::size_t stage = 0; stage < events.size(); ++stage) {
    TRIREME_EXPECT(events[stage].size() == schedule.actions[stage].size());
    result.events.insert(result.events.end(), events[stage].begin(), events[stage].end());
    result.peak_live.push_back(assign_slots(schedule.actions[stage]).peak_live);
    const Work work = work_of(events[stage]);
    works.push_back(work);
    result.makespan_s = std::max(result.makespan_s, work.end_s);
    result.bubble_s = std::max(result.bubble_s, work.end_s - work.begin_s - work.busy_s);
  }
  for (const Work& work : works) {
    const double share = result.makespan_s > 0 ? 1 - work.busy_s / result.makespan_s : 0;
    result.idle_share.push_back(share);
    result.bubble_share += share / static_cast<double>(works.size());
  }
  return result;
}

}  // namespace trireme::pipeline
