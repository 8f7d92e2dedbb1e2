#include "data/prepare/options.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"
#include "trireme/io/file.hpp"

#include "data/format.hpp"

namespace trireme::data {
namespace {

using Problems = std::vector<std::string>;

void check_files(const PrepareOptions& options, Problems& problems) {
  if (options.output.empty()) {
    problems.emplace_back("no output file is named");
  } else if (io::exists(options.output)) {
    problems.push_back(
        fmt::format("`{}` exists already (nothing is overwritten) remove it or choose another name", options.output));
  } else if (!io::is_folder(io::parent_of(options.output))) {
    problems.push_back(fmt::format("the folder `{}` does not exist (the dataset is to lie in it) make it first",
                                   io::parent_of(options.output)));
  }
  if (options.inputs.empty()) problems.emplace_back("no input file is named");
}

void check_tokenizer(const PrepareOptions& options, Problems& problems) {
  const std::string& kind = options.tokenizer;
  if (kind != "byte" && kind != "sentencepiece" && kind != "ids") {
    problems.push_back(fmt::format("unknown tokenizer `{}` (there are `byte`, `sentencepiece` and `ids`)", kind));
    return;
  }
  if (options.vocab < 0 || options.vocab > max_vocab) {
    problems.push_back(fmt::format("`--vocab {}` is outside of 1 ... {}", options.vocab, max_vocab));
  }
  if (kind == "byte" && options.vocab != 0 && options.vocab != 256) {
    problems.push_back(fmt::format("`--vocab {}` does not fit the tokenizer `byte` (it has 256 ids)", options.vocab));
  }
  if (kind != "sentencepiece" && !options.model.empty()) {
    problems.push_back(
        fmt::format("`--model` does not fit the tokenizer `{}` (only `sentencepiece` has models)", kind));
  }
  if (kind == "sentencepiece" && options.vocab == 0 && options.model.empty()) {
    problems.emplace_back("the tokenizer `sentencepiece` needs `--vocab N` to train on the text, or `--model FILE`");
  }
  if (kind == "sentencepiece" && options.vocab != 0 && !options.model.empty()) {
    problems.emplace_back("`--vocab` and `--model` exclude each other (a model has its vocabulary)");
  }
  if (kind == "ids" && !options.document_separator.empty()) {
    problems.emplace_back("a document separator does not fit the tokenizer `ids` (it divides text)");
  }
}

void check_fractions(const PrepareOptions& options, Problems& problems) {
  constexpr double rounding = 1e-9;
  const double skip = options.skip_fraction;
  const double take = options.take_fraction;
  if (!(skip >= 0 && skip < 1)) problems.push_back(fmt::format("the fraction to skip is `{}` (must be 0 ... 1)", skip));
  if (!(take > 0 && take <= 1)) problems.push_back(fmt::format("the fraction to take is `{}` (must be 0 ... 1)", take));
  if (skip + take > 1 + rounding) {
    problems.push_back(
        fmt::format("the fractions to skip and to take, `{}` and `{}`, are more than the whole", skip, take));
  }
}

}  // namespace

void check(const PrepareOptions& options) {
  Problems problems;
  check_files(options, problems);
  check_tokenizer(options, problems);
  check_fractions(options, problems);
  if (!problems.empty()) throw InputError(join(problems, "\n"));
}

}  // namespace trireme::data
