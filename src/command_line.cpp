#include "command_line.hpp"

#include <array>
#include <map>
#include <sstream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "trireme/base/build.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"

namespace trireme {

namespace {

/// CLI11's words, with the nearest command when an unknown one was typed.
std::string explain(const CLI::ParseError& error, const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string typed = argc > 1 ? argv[1] : "";
  const std::string near = nearest(typed, names);
  const bool unknown = !typed.empty() && typed[0] != '-' && std::find(names.begin(), names.end(), typed) == names.end();
  if (unknown) {
    return fmt::format("`{}` is no command of trireme{} choose one of {}", typed,
                       near.empty() ? "" : fmt::format(" (`{}` is near)", near), join(names));
  }
  return fmt::format("{} (command line) see `trireme {}--help`", error.what(),
                     unknown || typed.empty() ? "" : typed + " ");
}

/// CLI11's own check lets NaN pass, and numbers beyond 64 bits, which it then cuts.
std::string fault_of_amount(const std::string& text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) && value >= 0 && value <= 1e18) return {};
  return fmt::format("`{}` is no number from 0 to 1e18", text);
}

/// `2x1x4`: data x tensor x pipeline, as every grid is written.
void add_grid(CLI::App& command, comm::GridOptions& grid, const char* sentence) {
  const auto parse = [&grid](const std::string& text) {
    std::vector<std::string> parts;
    std::string part;
    for (std::istringstream stream(text); std::getline(stream, part, 'x');) parts.push_back(part);
    std::vector<int> extents(parts.size());
    bool good = parts.size() == 3 && text.back() != 'x';
    for (std::size_t i = 0; i < parts.size(); ++i) {
      good = good && CLI::detail::lexical_cast(parts[i], extents[i]) && extents[i] > 0 && extents[i] <= 1 << 20;
    }
    if (!good) throw CLI::ValidationError("--grid", "`" + text + "` is no grid such as 2x1x4");
    grid = {.data = extents[0], .tensor = extents[1], .pipeline = extents[2]};
  };
  command.add_option_function<std::string>("--grid", parse, sentence);
}

void add_train(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("train", "Train as a deck says; started under mpirun or srun, or alone");
  command->add_option("deck", line.deck, "TOML deck; `trireme help SECTION` explains its keys")->required();
  command->add_option("overrides", line.overrides, "section.key=value, the value as TOML");
  command->callback([&line] { line.command = Command::train; });
}

void add_prepare(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("prepare", "Turn text into a dataset of tokens; alone or under mpirun");
  data::PrepareOptions& options = line.prepare;
  command->add_option("output", options.output, "HDF5 file to write")->required();
  command->add_option("files", options.inputs, "text files; .npy or Megatron .bin with `--tokenizer ids`")->required();
  command->add_option("--tokenizer", options.tokenizer, "byte, sentencepiece or ids")->required();
  command->add_option("--vocab", options.vocab, "sentencepiece: pieces to train; ids: size of the vocabulary");
  command->add_option("--model", options.model, "sentencepiece: a model, or a dataset whose tokenizer to take");
  command->add_option("--document-separator", options.document_separator, "text between documents of one file");
  command->add_option("--mask", options.mask, ".npy of uint8, one a token: 0 leaves a token out of the loss");
  command->add_flag("--sequence-starts", options.sequence_starts,
                    "attention and positions start anew with each document");
  command->add_option("--skip", options.skip_fraction, "leave out this first part of all files together, 0 to 1");
  command->add_option("--take", options.take_fraction, "take this part of all files after that, 0 to 1");
  command->callback([&line] { line.command = Command::prepare; });
}

void add_generate(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("generate", "Continue a text with a checkpoint's model");
  infer::GenerateOptions& options = line.generate;
  command->add_option("checkpoint", options.checkpoint, "run folder (its newest) or step folder")->required();
  command->add_option("--prompt", options.prompt, "text to continue")->required();
  command->add_option("--tokens", options.tokens, "tokens to draw")->check(fault_of_amount, "0...");
  command->add_option("--temperature", options.temperature, "0: the likeliest token always")
      ->check(fault_of_amount, "0...");
  command->add_option("--top-k", options.top_k, "draw among the k likeliest; 0: among all")
      ->check(fault_of_amount, "0...");
  command->add_option("--seed", options.seed, "of the draws");
  add_grid(*command, options.grid, "data x tensor x pipeline, such as 1x2x2; else the ranks are a pipeline");
  command->callback([&line] { line.command = Command::generate; });
}

void add_evaluate(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("evaluate", "Loss of a checkpoint over datasets; alone or under mpirun");
  infer::EvaluateOptions& options = line.evaluate;
  command->add_option("checkpoint", options.checkpoint, "run folder (its newest) or step folder")->required();
  command->add_option("data", options.data, "datasets made by `trireme prepare`")->required();
  add_grid(*command, options.grid, "data x tensor x pipeline, such as 1x2x2; else the ranks share the data");
  command->callback([&line] { line.command = Command::evaluate; });
}

void add_plan(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("plan", "Memory, time and traffic of a deck on a grid, without running it");
  plan::Request& request = line.plan;
  command->add_option("deck", request.deck, "TOML deck")->required();
  command->add_option("overrides", request.overrides, "section.key=value, the value as TOML");
  command->add_option("--ranks", request.ranks, "ranks of the job; else the product of the deck's grid")
      ->check(CLI::Range(1, 1 << 24));
  command->add_option("--threads", request.threads, "threads of a rank")->check(CLI::Range(1, 1024));
  command->add_option("--rates", request.rates, "JSON file with rates of the machine; else those of a current server");
  command->add_option("--timeline", request.timeline, "write the schedule as FILE.svg and FILE.json (Perfetto)");
  command->callback([&line] { line.command = Command::plan; });
}

void add_checkpoint(CLI::App& app, CommandLine& line) {
  CLI::App* parent = app.add_subcommand("checkpoint", "List, show, verify or compare checkpoints");
  parent->require_subcommand(1);
  const auto add = [&](const char* name, const char* sentence, Command value) {
    CLI::App* command = parent->add_subcommand(name, sentence);
    command->add_option("path", line.checkpoint, "run folder (its newest) or step folder")->required();
    command->callback([&line, value] { line.command = value; });
    return command;
  };
  add("list", "Every checkpoint of a run: step, grid, size, complete, age", Command::checkpoint_list);
  add("show", "Counters, tree of tensors with types and shapes, and deck", Command::checkpoint_show)
      ->add_flag("--statistics", line.statistics, "of each tensor, which is read: min, max, mean, rms, not finite");
  add("verify", "Read everything, check every hash; exit code 2 on damage", Command::checkpoint_verify);
  add("diff", "Compare two bit by bit; exit code 0 only if all is equal, else 1", Command::checkpoint_diff)
      ->add_option("other", line.other_checkpoint, "the other run or step folder")
      ->required();
}

void add_bench(CLI::App& app, CommandLine& line) {
  static const std::map<std::string, bench::Subject> subjects = {{"gemm", bench::Subject::gemm},
                                                                 {"kernels", bench::Subject::kernels},
                                                                 {"comm", bench::Subject::comm},
                                                                 {"io", bench::Subject::io},
                                                                 {"rates", bench::Subject::rates}};
  CLI::App* command = app.add_subcommand("bench", "What this machine gives; comm, io and rates alone or under mpirun");
  bench::Options& options = line.bench;
  command
      ->add_option_function<std::string>(
          "what", [&options](const std::string& word) { options.subject = subjects.at(word); },
          "gemm or kernels of one process; comm, io or rates of all ranks")
      ->check(CLI::IsMember(subjects));
  command->add_flag("--json", options.json, "one JSON object instead of a table");
  const std::array of_io = {
      command->add_option("--folder", options.folder, "io: where each rank writes a file"),
      command->add_option("--mib", options.mib, "io: size of such a file")->check(CLI::Range(1, 1 << 20))};
  command->callback([&line, of_io] {
    for (const CLI::Option* option : of_io) {
      if (option->count() > 0 && line.bench.subject != bench::Subject::io) {
        throw CLI::ValidationError(option->get_name(), "is an option of `bench io`");
      }
    }
    line.command = Command::bench;
  });
}

void add_help(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("help", "The keys of a section of the deck");
  command->add_option("section", line.section, "run, model, data, grid, batch, ...")->required();
  command->callback([&line] { line.command = Command::help_section; });
}

}  // namespace

bool asks_for_training(int argc, const char* const* argv) {
  // No option of the program itself takes a value, so the first word that is none is the command.
  for (int i = 1; i < argc; ++i) {
    if (*argv[i] != '-') return std::string_view(argv[i]) == "train";
  }
  return false;
}

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  bool version = false;
  CLI::App app("Trireme " + trireme::version() + ": trains transformer language models on supercomputers", "trireme");
  app.add_flag("--version", version, "version, libraries, instruction set");
  app.add_flag("--verbose", line.verbose, "more lines");
  app.require_subcommand(0, 1);
  app.fallthrough();
  add_train(app, line);
  add_prepare(app, line);
  add_generate(app, line);
  add_evaluate(app, line);
  add_plan(app, line);
  add_checkpoint(app, line);
  add_bench(app, line);
  add_help(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* asked = &app;
    while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().front();
    line.command = Command::nothing_more;
    line.text = asked->help();
    return line;
  } catch (const CLI::ParseError& error) {
    throw InputError(explain(error, app, argc, argv));
  }
  if (version) line.command = Command::version;
  if (line.command == Command::nothing_more) line.text = app.help();
  return line;
}

}  // namespace trireme
