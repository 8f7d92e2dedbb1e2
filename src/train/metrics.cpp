#include "train/metrics.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/model/counts.hpp"

namespace trireme::train {

namespace {

struct Kept {
  std::string text;
  std::int64_t last_attempt = 0;
};

/// The lines of steps up to `step`; cut or foreign lines are dropped.
Kept keep_until(const std::string& text, std::int64_t step) {
  Kept kept;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) continue;
    if (json.contains("attempt") && json["attempt"].is_number_integer()) {
      kept.last_attempt = std::max(kept.last_attempt, json["attempt"].get<std::int64_t>());
    }
    if (json["step"].get<std::int64_t>() <= step) kept.text += line + '\n';
  }
  return kept;
}

}  // namespace

MetricsFile::MetricsFile(const std::string& path, std::int64_t step) {
  if (io::exists(path)) {
    const Kept kept = keep_until(io::read_text(path), step);
    attempt_ = kept.last_attempt + 1;
    io::write_text_atomically(path, kept.text);
  }
  file_ = std::make_unique<io::File>(path, io::File::Mode::append);
  whole_bytes_ = file_->size();
}

void MetricsFile::write(const StepMetrics& metrics) {
  nlohmann::ordered_json line;
  line["step"] = metrics.step;
  line["loss"] = metrics.loss;
  if (metrics.validation_loss) line["validation_loss"] = *metrics.validation_loss;
  line["grad_norm"] = metrics.grad_norm;
  line["lr"] = metrics.learning_rate;
  line["loss_scale"] = metrics.loss_scale;
  line["skipped"] = metrics.skipped;
  line["tokens"] = metrics.tokens;
  line["step_time_s"] = metrics.step_time_s;
  line["tokens_per_s"] = metrics.tokens_per_s;
  line["mfu"] = metrics.mfu;
  line["mfu_formula"] = model::flop_formula;
  line["memory_bytes"] = metrics.memory_bytes;
  line["attempt"] = attempt_;
  if (!metrics.rows.empty()) line["rows"] = metrics.rows;
  append(line.dump() + '\n');
}

void MetricsFile::append(const std::string& line) {
  const auto drop_cut_line = [&] {
    if (cut_) file_->truncate(whole_bytes_);
    cut_ = false;
  };
  try {
    drop_cut_line();
    cut_ = true;
    file_->write(line.data(), line.size());
    cut_ = false;
    whole_bytes_ += line.size();
  } catch (const SystemError& error) {
    if (!std::exchange(warned_, true)) {
      log::warning("a line of the metrics could not be written ({}); training goes on without it", error.what());
    }
    try {
      drop_cut_line();
    } catch (const SystemError&) {
      // Before the next line it is tried again.
    }
  }
}

}  // namespace trireme::train
