#include "train/trace.hpp"

#include <sstream>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/io/file.hpp"

namespace trireme::train {

using comm::Axis;

namespace {

std::string to_text(const std::vector<pipeline::Event>& events) {
  std::string text;
  for (const pipeline::Event& event : events) {
    text += fmt::format("{} {} {} {} {} {}\n", event.row, event.name, event.micro_batch, event.chunk, event.begin_s,
                        event.end_s);
  }
  return text;
}

void append_from_text(std::vector<pipeline::Event>& events, const std::string& text) {
  std::istringstream lines(text);
  pipeline::Event event;
  while (lines >> event.row >> event.name >> event.micro_batch >> event.chunk >> event.begin_s >> event.end_s) {
    events.push_back(event);
  }
}

}  // namespace

Trace::Trace(const comm::ProcessGrid& grid, const std::string& folder, std::int64_t steps)
    : grid_(grid), folder_(folder), left_(steps) {
  if (left_ == 0) return;
  grid_.world().barrier();
  clock_.restart();
  if (grid_.coordinate(Axis::data) != 0 || grid_.coordinate(Axis::tensor) != 0) left_ = 0;
}

std::vector<pipeline::Event>* Trace::begin_step() {
  return left_ > 0 ? &events_ : nullptr;
}

void Trace::end_step() {
  if (left_ == 0) return;
  --left_;
  if (left_ == 0) write();
}

void Trace::finish() {
  if (left_ == 0) return;
  left_ = 0;
  write();
}

void Trace::write() {
  std::vector<pipeline::Event> all;
  for (const std::string& text : grid_.along(Axis::pipeline).all_gather_text(to_text(events_))) {
    append_from_text(all, text);
  }
  events_ = {};
  if (grid_.world().rank() != 0 || all.empty()) return;
  const pipeline::PictureOptions options{.title = "recorded steps, grid " + grid_.shape().text()};
  // A picture that cannot be written is no reason to lose a run.
  try {
    io::write_text_atomically(folder_ + "/trace.json", pipeline::chrome_trace(all, options));
    io::write_text_atomically(folder_ + "/trace.svg", pipeline::svg_picture(all, options));
    log::info("trace of the first steps: {}/trace.svg and trace.json (for ui.perfetto.dev)", folder_);
  } catch (const SystemError& error) {
    log::warning("the trace was not written ({})", error.what());
  }
}

}  // namespace trireme::train
