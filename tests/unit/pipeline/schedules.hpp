// The schedules that the tests of this folder go through.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "trireme/pipeline/schedule.hpp"

namespace trireme::pipeline {

constexpr std::array kAllSchedules{
    ScheduleKind::naive,       ScheduleKind::gpipe,       ScheduleKind::one_forward_one_backward,
    ScheduleKind::interleaved, ScheduleKind::zero_bubble, ScheduleKind::zero_bubble_h2};

inline std::string words(const Schedule& schedule) {
  return fmt::format("{} of {} stages, {} micro-batches, {} chunks", name(schedule.kind), schedule.stages,
                     schedule.micro_batches, schedule.chunks);
}

/// Every schedule on 1 to `stages` stages, 1 to `micro_batches` micro-batches and up to 4 chunks.
inline std::vector<Schedule> all_schedules(int stages, std::int64_t micro_batches) {
  std::vector<Schedule> schedules;
  for (const ScheduleKind kind : kAllSchedules) {
    for (int p = 1; p <= stages; ++p) {
      const int most_chunks = kind == ScheduleKind::interleaved && p > 1 ? 4 : 1;
      for (int v = 1; v <= most_chunks; ++v) {
        for (std::int64_t m = 1; m <= micro_batches; ++m) schedules.push_back(make_schedule(kind, p, m, v));
      }
    }
  }
  return schedules;
}

}  // namespace trireme::pipeline
