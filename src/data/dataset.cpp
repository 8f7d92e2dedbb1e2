#include <numeric>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/data/loader.hpp"

#include "data/samples.hpp"

namespace trireme::data {
namespace {

void check_long_enough(const TokenFileInfo& info, std::int64_t context) {
  if (num_file_samples(info, context) > 0) return;
  throw InputError(
      fmt::format("`{}` has {} tokens (a context of {} needs at least {}) use more text or a smaller "
                  "`model.context`",
                  info.path, info.num_tokens, context, context + 1));
}

std::string describe(const TokenFileInfo& info) {
  if (info.vocab == 0) return fmt::format("`{}` (`{}`)", info.path, info.tokenizer_kind);
  return fmt::format("`{}` (`{}`, {} ids)", info.path, info.tokenizer_kind, info.vocab);
}

[[noreturn]] void refuse_mixture(const TokenFileInfo& first, const TokenFileInfo& other) {
  throw InputError(fmt::format(
      "{} and {} do not fit together (they were made with different tokenizers) make one again with the other's: "
      "`trireme prepare --model`, or the same `--vocab` for ready ids",
      describe(first), describe(other)));
}

}  // namespace

void check_same_tokenizer(const TokenFileInfo& first, const TokenFileInfo& other) {
  const bool same_model = first.tokenizer_kind == "ids" || first.tokenizer_model == other.tokenizer_model;
  if (first.tokenizer_kind != other.tokenizer_kind || !same_model) refuse_mixture(first, other);
}

std::int64_t Dataset::vocab() const {
  return files.front()->info().vocab;
}

std::int64_t Dataset::num_samples(std::int64_t context) const {
  return std::accumulate(files.begin(), files.end(), std::int64_t{0}, [&](std::int64_t sum, const auto& file) {
    return sum + num_file_samples(file->info(), context);
  });
}

Dataset open_dataset(const std::vector<std::string>& paths, std::int64_t context) {
  TRIREME_EXPECT(context > 0);
  if (paths.empty()) throw InputError("no dataset is given (a run needs tokens) name at least one file");
  Dataset dataset;
  for (const std::string& path : paths) {
    dataset.files.push_back(std::make_shared<TokenFile>(path));
    check_long_enough(dataset.files.back()->info(), context);
    const TokenFileInfo& first = dataset.files.front()->info();
    const TokenFileInfo& last = dataset.files.back()->info();
    check_same_tokenizer(first, last);
    if (first.vocab != last.vocab) refuse_mixture(first, last);
  }
  return dataset;
}

}  // namespace trireme::data
