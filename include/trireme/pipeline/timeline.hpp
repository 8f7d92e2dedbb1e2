// What happened when, as a picture and as a trace: of a simulation or of a real run, so that the two can be compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/pipeline/simulate.hpp"

namespace trireme::pipeline {

/// Something that took time in one row (a stage or a rank). Events of a row do not overlap unless one lies within the
/// other.
struct Event {
  int row = 0;
  std::string name;               ///< an action's name has a colour and a number in the picture, any other is grey
  std::int64_t micro_batch = -1;  ///< -1: of none
  int chunk = 0;
  double begin_s = 0;
  double end_s = 0;
};

/// The compute actions of a simulation, a row for each stage.
[[nodiscard]] std::vector<Event> timeline(const Simulation& simulation);

struct PictureOptions {
  std::string title;
  std::string row_name = "stage";  ///< row 2 is called `stage 2`
};

/// An SVG picture: a row for each stage, a box for each event, with its micro-batch where there is room; later chunks
/// are darker; legend and time axis. The colours are told apart by the colour-blind too.
[[nodiscard]] std::string svg_picture(const std::vector<Event>& events, const PictureOptions& options);

/// Trace events in JSON for chrome://tracing and ui.perfetto.dev: pid and tid are the row, times in microseconds.
[[nodiscard]] std::string chrome_trace(const std::vector<Event>& events, const PictureOptions& options);

}  // namespace trireme::pipeline
