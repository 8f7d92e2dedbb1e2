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

void check_same_tokenizer(const TokenFileInfo& first, const TokenFileInfo& other) {
  const bool same = first.tokenizer_kind == other.tokenizer_kind && first.tokenizer_model == other.tokenizer_model &&
                    first.vocab == other.vocab;
  if (same) return;
  throw InputError(
      fmt::format("`{}` (`{}`, {} ids) and `{}` (`{}`, {} ids) were made with different tokenizers; make one "
                  "again with `trireme prepare --model` of the other",
                  first.path, first.tokenizer_kind, first.vocab, other.path, other.tokenizer_kind, other.vocab));
}

}  // namespace

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
  if (paths.empty()) throw InputError("no dataset is given; name at least one file");
  Dataset dataset;
  for (const std::string& path : paths) {
    dataset.files.push_back(std::make_shared<TokenFile>(path));
    check_long_enough(dataset.files.back()->info(), context);
    check_same_tokenizer(dataset.files.front()->info(), dataset.files.back()->info());
  }
  return dataset;
}

}  // namespace trireme::data
