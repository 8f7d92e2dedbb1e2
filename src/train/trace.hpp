// What the stages really did in the first steps of an attempt, as a picture and a trace beside those of `plan`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/base/timer.hpp"
#include "trireme/comm/process_grid.hpp"
#include "trireme/pipeline/timeline.hpp"

namespace trireme::train {

/// Records `steps` steps and then writes trace.json and trace.svg into `folder`: a row for each stage, as its rank of
/// the first data and tensor coordinate saw it, which is the only one to record. 0 steps: nothing. The calls are
/// collective over the pipeline axis.
class Trace {
 public:
  Trace(const comm::ProcessGrid& grid, const std::string& folder, std::int64_t steps);
  /// Where a step notes what it does; nullptr when nothing is (or any more) recorded.
  [[nodiscard]] std::vector<pipeline::Event>* begin_step();
  [[nodiscard]] const Timer& clock() const noexcept { return clock_; }
  void end_step();
  /// Writes what there is when the run ends before that.
  void finish();

 private:
  void write();
  const comm::ProcessGrid& grid_;
  std::string folder_;
  std::int64_t left_;
  Timer clock_;
  std::vector<pipeline::Event> events_;
};

}  // namespace trireme::train
