#include "data/prepare/assemble.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "data/dataset_writer.hpp"
#include "data/prepare/ids_input.hpp"
#include "data/prepare/part.hpp"

namespace trireme::data {
namespace {

std::unique_ptr<IdsInput> open_mask(const std::string& path, std::int64_t num_tokens) {
  auto mask = open_npy(path);
  if (mask->type().bytes != 1) {
    throw InputError(fmt::format("loss mask `{}` holds numbers of {} bytes (must be uint8)", path, mask->type().bytes));
  }
  if (mask->num_ids() != num_tokens) {
    throw InputError(fmt::format("loss mask `{}` has {} numbers (there are {} tokens) give one a token", path,
                                 mask->num_ids(), num_tokens));
  }
  return mask;
}

void add_mask(const IdsInput& mask, DatasetWriter& writer) {
  constexpr std::int64_t run = std::int64_t{1} << 20;
  for (std::int64_t begin = 0; begin < mask.num_ids(); begin += run) {
    const std::string bytes = mask.read({begin, std::min(mask.num_ids(), begin + run)});
    const std::vector<std::uint8_t> values(bytes.begin(), bytes.end());
    const auto wrong = std::find_if(values.begin(), values.end(), [](std::uint8_t value) { return value > 1; });
    if (wrong != values.end()) {
      throw InputError(fmt::format("loss mask `{}`, position {}: `{}` is neither 0 nor 1", mask.path(),
                                   begin + (wrong - values.begin()), *wrong));
    }
    writer.add_loss_mask(values);
  }
}

void add_parts(const std::vector<std::string>& parts, DatasetWriter& writer) {
  std::int64_t first = 0;
  for (const std::string& path : parts) {
    Part part = read_part(path);
    for (std::int64_t& start : part.documents) start += first;
    writer.add_tokens(part.tokens.data(), part.num_tokens);
    writer.add_documents(part.documents);
    first += part.num_tokens;
  }
}

}  // namespace

void assemble(const std::vector<std::string>& parts, const std::string& mask, TokenFileInfo& info) {
  info.num_tokens = 0;
  info.num_documents = 0;
  for (const std::string& path : parts) {
    const PartCounts counts = read_part_counts(path);
    info.num_tokens += counts.tokens;
    info.num_documents += counts.documents;
  }
  if (info.num_tokens == 0) throw InputError("the inputs hold no token (they are empty, or nothing but separators)");
  std::unique_ptr<IdsInput> loss_mask;
  if (!mask.empty()) loss_mask = open_mask(mask, info.num_tokens);
  info.has_loss_mask = loss_mask != nullptr;

  DatasetWriter writer(info);
  add_parts(parts, writer);
  if (loss_mask) add_mask(*loss_mask, writer);
  writer.finish();
}

}  // namespace trireme::data
