// What the user typed.
#pragma once

#include <string>
#include <vector>

#include "trireme/bench/bench.hpp"
#include "trireme/data/prepare.hpp"
#include "trireme/infer/infer.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme {

enum class Command : unsigned char {
  train,
  prepare,
  generate,
  evaluate,
  plan,
  checkpoint_list,
  checkpoint_show,
  checkpoint_verify,
  checkpoint_diff,
  bench,
  help_section,
  version,
  nothing_more
};

struct CommandLine {
  Command command = Command::nothing_more;  ///< nothing_more: `text` was all that was asked for
  std::string text;                         ///< of --help
  bool verbose = false;

  std::string deck;  ///< train
  std::vector<std::string> overrides;
  data::PrepareOptions prepare;
  infer::GenerateOptions generate;
  infer::EvaluateOptions evaluate;
  plan::Request plan;
  std::string checkpoint;        ///< checkpoint ...
  std::string other_checkpoint;  ///< diff
  bool statistics = false;       ///< show
  bench::Options bench;
  std::string section;  ///< help
};

/// True when the command is `train`, whatever else is wrong with the line.
[[nodiscard]] bool asks_for_training(int argc, const char* const* argv);

/// Parses the arguments. Throws InputError with the nearest command or option for what it does not know.
[[nodiscard]] CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace trireme
