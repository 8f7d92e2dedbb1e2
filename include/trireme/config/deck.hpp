// The deck: every option of a run, each listed once in the tables of src/config/options_*.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/checkpoint/options.hpp"
#include "trireme/comm/grid_shape.hpp"
#include "trireme/data/options.hpp"
#include "trireme/model/options.hpp"
#include "trireme/model/stage.hpp"
#include "trireme/optim/options.hpp"

namespace trireme::config {

struct RunOptions {
  std::string name;
  std::string output;
  std::int64_t steps = 0;
  std::uint64_t seed = 1;
  std::string resume = "auto";  ///< `auto`, `never`, or a path
};

struct PipelineOptions {
  std::string schedule = "1f1b";               ///< as pipeline::schedule_kind() reads it
  std::int64_t chunks = 1;                     ///< of a stage, where there are several stages
  std::vector<std::int64_t> layers_per_stage;  ///< one number a virtual stage; empty: balanced
};

struct PrecisionOptions {
  std::string compute = "fp32";  ///< `fp32`, `bf16`, `fp16`
  double loss_scale_initial = 65536;
  std::int64_t loss_scale_window = 1000;
  [[nodiscard]] Dtype compute_type() const;
};

struct NumericsOptions {
  bool grid_invariant = false;
  std::int64_t data_lanes = 0;
  std::int64_t tensor_slices = 0;
  std::string isa = "auto";  ///< `auto` or the name of a device::Isa
  std::int64_t audit_steps = 100;
  std::string on_nonfinite = "stop";
  bool trace = false;
};

struct EvaluationOptions {
  std::int64_t every_steps = 0;
  std::int64_t sequences = 0;  ///< 0: the whole validation set
};

struct WalltimeOptions {
  double limit_minutes = 0;
  double margin_seconds = 30;
  std::string left_command;
};

struct MetricsOptions {
  std::int64_t every_steps = 1;
  bool rows = false;
  std::int64_t trace_steps = 0;
};

struct CommOptions {
  std::string backend = "auto";
  bool overlap = true;
};

/// A resolved deck.
struct Deck {
  RunOptions run;
  model::ModelOptions model;
  data::DataOptions data;
  comm::GridOptions grid;
  data::BatchOptions batch;
  PipelineOptions pipeline;
  optim::ShardingOptions sharding;
  model::RecomputeOptions recompute;
  PrecisionOptions precision;
  NumericsOptions numerics;
  optim::OptimizerOptions optimizer;
  optim::LearningRateOptions learning_rate;
  EvaluationOptions evaluation;
  checkpoint::CheckpointOptions checkpoint;
  WalltimeOptions walltime;
  MetricsOptions metrics;
  CommOptions comm;
};

/// Reads a deck and `section.key=value` overrides. Values of overrides are TOML; for an option that takes a string a
/// bare word is taken as it stands, since shells eat quotes. All problems come in one InputError, one line each:
/// `file:line: key = value: problem (why) suggestion`, with `command line` for file:line of an override. Rules across
/// options are checked too (sizes that must divide, options that need each other), naming both options. Whether the
/// grid fits the ranks is not known here: rules about an axis that is 0 are left to check_grid() (fit.hpp). The result
/// is resolved: sizes that follow from others (model.kv_heads, head_width, mlp_width) are filled. Two zeros may be
/// left: model.vocab (the data's vocabulary) to who opens the data, and batch.micro where grid.data is 0 too, to
/// resolve_micro() (fit.hpp).
[[nodiscard]] Deck read_deck(const std::string& path, const std::vector<std::string>& overrides);

/// The same from text; `name` stands for the file in messages. A pure function of its arguments, so that ranks which
/// are sent the same text have the same deck.
[[nodiscard]] Deck parse_deck(const std::string& text, const std::string& name,
                              const std::vector<std::string>& overrides);

/// The whole deck as TOML, every option present, floats to the same bits: parse_deck(to_toml(d)) equals d.
[[nodiscard]] std::string to_toml(const Deck& deck);

/// inputs/REFERENCE.md, made from the option table.
[[nodiscard]] std::string reference_page();

/// `trireme help SECTION`, also for one `section.key`; throws InputError naming the sections for an unknown one.
[[nodiscard]] std::string help_of(const std::string& section);

/// A difference between a checkpoint's deck and the run's.
struct Difference {
  std::string key;
  std::string stored;
  std::string given;
  bool refused = false;  ///< changes what the model is: cannot resume; otherwise listed as changed
};

/// Compares option by option and gives every option that differs; `refused` by the resume column of the table
/// (structural: model sizes, norm, activation, heads, ...; free: dropout, learning rate, grid, output, ...). Give both
/// decks with model.vocab filled, since 0 differs from the number it stands for.
[[nodiscard]] std::vector<Difference> compare_for_resume(const Deck& stored, const Deck& given);

}  // namespace trireme::config
