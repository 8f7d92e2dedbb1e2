#include "trireme/pipeline/timeline.hpp"

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace trireme::pipeline {
namespace {

using nlohmann::json;

json row_metadata(int row, const char* what, const json& value) {
  return {{"ph", "M"}, {"name", what}, {"pid", row}, {"tid", row}, {"args", value}};
}

/// A complete event; viewers give one colour to names that differ by the number at their end only.
json complete_event(const Event& event) {
  const bool numbered = event.micro_batch >= 0;
  json result{{"ph", "X"},
              {"name", numbered ? fmt::format("{} {}", event.name, event.micro_batch) : event.name},
              {"cat", event.name},
              {"pid", event.row},
              {"tid", event.row},
              {"ts", event.begin_s * 1e6},
              {"dur", (event.end_s - event.begin_s) * 1e6}};
  if (numbered) result["args"] = {{"micro_batch", event.micro_batch}, {"chunk", event.chunk}};
  return result;
}

}  // namespace

std::vector<Event> timeline(const Simulation& simulation) {
  std::vector<Event> events;
  for (const SimulatedEvent& event : simulation.events) {
    if (!is_compute(event.action.kind)) continue;
    events.push_back({event.stage, std::string(name(event.action.kind)), event.action.micro_batch, event.action.chunk,
                      event.begin_s, event.end_s});
  }
  return events;
}

std::string chrome_trace(const std::vector<Event>& events, const PictureOptions& options) {
  json list = json::array();
  std::set<int> rows;
  for (const Event& event : events) rows.insert(event.row);
  for (const int row : rows) {
    const std::string row_name = fmt::format("{} {}", options.row_name, row);
    list.push_back(row_metadata(row, "process_name", {{"name", row_name}}));
    list.push_back(row_metadata(row, "process_sort_index", {{"sort_index", row}}));
    list.push_back(row_metadata(row, "thread_name", {{"name", row_name}}));
  }
  for (const Event& event : events) list.push_back(complete_event(event));
  const json trace{{"traceEvents", list}, {"displayTimeUnit", "ms"}, {"otherData", {{"title", options.title}}}};
  return trace.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

}  // namespace trireme::pipeline
