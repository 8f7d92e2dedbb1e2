// The deck: every option of a run, each listed once in the table of src/config/options.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/checkpoint/options.hpp"
#include "trireme/comm/grid_shape.hpp"
#include "trireme/data/options.hpp"
#include "trireme/model/options.hpp"
#include "trireme/optim/options.hpp"

namespace trireme::config {

struct RunOptions {
  std::string name;
  std::string output;
  std::int64_t steps = 0;
  std::uint64_t seed = 1;
  std::string resume = "auto";   ///< `auto`, `never`, or a path
};

struct PrecisionOptions {
  std::string compute = "fp32";  ///< fp32; bf16 and fp16 are refused by name in this version
};

struct NumericsOptions {
  bool grid_invariant = false;
  std::int64_t data_lanes = 0;
  std::string isa = "auto";      ///< `auto`, `generic`, `avx2`, `avx512`
  std::string on_nonfinite = "stop";
};

struct EvaluationOptions {
  std::int64_t every_steps = 0;
  std::int64_t sequences = 0;    ///< 0: the whole validation set
};

struct WalltimeOptions {
  double limit_minutes = 0;
  double margin_seconds = 30;
};

struct MetricsOptions {
  std::int64_t every_steps = 1;
  bool rows = false;
};

/// A resolved deck.
struct Deck {
  RunOptions run;
  model::ModelOptions model;
  data::DataOptions data;
  comm::GridOptions grid;
  data::BatchOptions batch;
  optim::ShardingOptions sharding;
  PrecisionOptions precision;
  NumericsOptions numerics;
  optim::OptimizerOptions optimizer;
  optim::LearningRateOptions learning_rate;
  EvaluationOptions evaluation;
  checkpoint::CheckpointOptions checkpoint;
  WalltimeOptions walltime;
  MetricsOptions metrics;
};

/// Reads a deck and `section.key=value` overrides (values are TOML). All problems come in one InputError, each with
/// file:line (or `command line`), key, value, and the nearest key. Rules across options are checked too (sizes that must
/// divide, options that exclude each other), naming both options.
[[nodiscard]] Deck read_deck(const std::string& path, const std::vector<std::string>& overrides);

/// The same from text; `name` stands for the file in messages.
[[nodiscard]] Deck parse_deck(const std::string& text, const std::string& name,
                              const std::vector<std::string>& overrides);

/// The whole deck as TOML, every option present, floats to the same bits: parse_deck(to_toml(d)) equals d.
[[nodiscard]] std::string to_toml(const Deck& deck);

/// inputs/REFERENCE.md, made from the option table.
[[nodiscard]] std::string reference_page();

/// `trireme help SECTION`; throws InputError naming the sections for an unknown one.
[[nodiscard]] std::string help_of(const std::string& section);

/// A difference between a checkpoint's deck and the run's.
struct Difference {
  std::string key;
  std::string stored;
  std::string given;
  bool refused = false;  ///< changes what the model is: cannot resume; otherwise listed as changed
};

/// Compares option by option by the table's resume column (structural: model sizes, norm, activation, heads, ...; free:
/// dropout, learning rate, grid, output, ...).
[[nodiscard]] std::vector<Difference> compare_for_resume(const Deck& stored, const Deck& given);

}  // namespace trireme::config
