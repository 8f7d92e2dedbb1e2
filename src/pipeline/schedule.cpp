#include "trireme/pipeline/schedule.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "pipeline/compute_order.hpp"
#include "pipeline/transfers.hpp"

namespace trireme::pipeline {
namespace {

constexpr std::array<std::pair<ScheduleKind, std::string_view>, 6> kSchedules{
    {{ScheduleKind::naive, "naive"},
     {ScheduleKind::gpipe, "gpipe"},
     {ScheduleKind::one_forward_one_backward, "1f1b"},
     {ScheduleKind::interleaved, "interleaved"},
     {ScheduleKind::zero_bubble, "zero_bubble"},
     {ScheduleKind::zero_bubble_h2, "zero_bubble_h2"}}};

void expect_possible(const ScheduleShape& shape) {
  const auto& [kind, stages, chunks, micro_batches] = shape;
  if (stages < 1 || micro_batches < 1 || chunks < 1) {
    throw InputError(
        fmt::format("no pipeline of `{}` stages, `{}` micro-batches and `{}` chunks a stage (each must be "
                    "1 or more)",
                    stages, micro_batches, chunks));
  }
  if (chunks > 1 && kind != ScheduleKind::interleaved) {
    throw InputError(
        fmt::format("schedule `{}` cannot have `{}` chunks a stage (only `interleaved` has several); set "
                    "`pipeline.chunks = 1` or `pipeline.schedule = \"interleaved\"`",
                    name(kind), chunks));
  }
  if (chunks > 1 && stages == 1) {
    throw InputError(
        fmt::format("`{}` chunks on one pipeline stage (a stage would send to itself); set "
                    "`pipeline.chunks = 1` or a larger `grid.pipeline`",
                    chunks));
  }
}

}  // namespace

ActionList make_stage_actions(const ScheduleShape& shape, int stage) {
  expect_possible(shape);
  TRIREME_EXPECT(stage >= 0 && stage < shape.stages);
  return with_transfers(compute_order(shape.kind, shape.stages, shape.micro_batches, shape.chunks, stage), shape.stages,
                        shape.chunks, stage);
}

Schedule make_schedule(const ScheduleShape& shape) {
  expect_possible(shape);
  Schedule schedule{shape, {}};
  for (int stage = 0; stage < shape.stages; ++stage) schedule.actions.push_back(make_stage_actions(shape, stage));
  return schedule;
}

Schedule make_schedule(ScheduleKind kind, int stages, std::int64_t micro_batches, int chunks) {
  return make_schedule({.kind = kind, .stages = stages, .chunks = chunks, .micro_batches = micro_batches});
}

std::int64_t live_bound(ScheduleKind kind, int stages, std::int64_t micro_batches, int chunks, int stage) {
  const std::int64_t all = micro_batches * chunks;
  switch (kind) {
    case ScheduleKind::naive:
      return 1;
    case ScheduleKind::gpipe:
      return all;
    case ScheduleKind::interleaved:
      if (chunks > 1) return std::min<std::int64_t>(all, 2 * (stages - stage - 1) + (chunks - 1) * stages + 1);
      [[fallthrough]];
    case ScheduleKind::one_forward_one_backward:
      return std::min<std::int64_t>(all, stages - stage);
    case ScheduleKind::zero_bubble:
      return std::min<std::int64_t>(all, stages);
    case ScheduleKind::zero_bubble_h2:
      return std::min<std::int64_t>(all, 2 * stages - 1);
  }
  return all;
}

std::optional<Neighbour> before(int stages, int stage, int chunk) {
  if (stage > 0) return Neighbour{stage - 1, chunk};
  if (chunk > 0) return Neighbour{stages - 1, chunk - 1};
  return std::nullopt;
}

std::optional<Neighbour> after(int stages, int chunks, int stage, int chunk) {
  if (stage < stages - 1) return Neighbour{stage + 1, chunk};
  if (chunk < chunks - 1) return Neighbour{0, chunk + 1};
  return std::nullopt;
}

bool is_compute(ActionKind kind) {
  return kind == ActionKind::forward || kind == ActionKind::backward || kind == ActionKind::backward_input ||
         kind == ActionKind::backward_weight;
}

std::string_view name(ActionKind kind) {
  switch (kind) {
    case ActionKind::receive_input:
      return "receive_input";
    case ActionKind::receive_gradient:
      return "receive_gradient";
    case ActionKind::forward:
      return "forward";
    case ActionKind::backward_input:
      return "backward_input";
    case ActionKind::backward_weight:
      return "backward_weight";
    case ActionKind::backward:
      return "backward";
    case ActionKind::send_output:
      return "send_output";
    case ActionKind::send_gradient:
      return "send_gradient";
  }
  return "";
}

std::string_view name(ScheduleKind kind) {
  const auto* found =
      std::find_if(kSchedules.begin(), kSchedules.end(), [&](auto& entry) { return entry.first == kind; });
  return found == kSchedules.end() ? std::string_view() : found->second;
}

std::optional<ScheduleKind> schedule_kind(std::string_view name) {
  const auto* found =
      std::find_if(kSchedules.begin(), kSchedules.end(), [&](auto& entry) { return entry.second == name; });
  if (found == kSchedules.end()) return std::nullopt;
  return found->first;
}

}  // namespace trireme::pipeline
