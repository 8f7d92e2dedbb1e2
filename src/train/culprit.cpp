#include "train/culprit.hpp"

#include <limits>

#include <fmt/core.h>

#include "trireme/base/text.hpp"
#include "trireme/kernels/reduce.hpp"

#include "train/first_text.hpp"

namespace trireme::train {

namespace {

std::string rank_text(const comm::ProcessGrid& grid) {
  const int rank = grid.world().rank();
  return fmt::format("rank {} (`{}`)", rank, grid.hosts()[static_cast<std::size_t>(rank)]);
}

/// `layers 0-3`, with the ends of the model that the pass runs through.
std::string part_text(const model::ChunkRange& chunk, bool backward) {
  std::vector<std::string> parts;
  if (chunk.embedding) parts.emplace_back("the embedding");
  if (chunk.num_blocks == 1) parts.push_back(fmt::format("layer {}", chunk.first_block));
  if (chunk.num_blocks > 1) parts.push_back(fmt::format("layers {}-{}", chunk.first_block, chunk.end_block() - 1));
  if (chunk.head && backward) parts.emplace_back("the head");
  return parts.empty() ? "no layer" : join(parts, " and ");
}

std::string samples_text(const data::Batch& batch) {
  constexpr std::size_t shown = 16;
  std::vector<std::string> numbers;
  for (const std::int64_t sample : batch.samples) {
    if (numbers.size() < shown) numbers.push_back(fmt::format("{}", sample));
  }
  std::string text = fmt::format("sample{} {}", batch.samples.size() == 1 ? "" : "s", join(numbers));
  if (batch.samples.size() > shown) text += fmt::format(" and {} more", batch.samples.size() - shown);
  return text;
}

}  // namespace

std::string find_culprit(const comm::ProcessGrid& grid, const pipeline::NonfiniteWatch& watch,
                         const std::vector<model::ChunkRange>& chunks, const data::StepBatch& batch) {
  const std::optional<pipeline::NonfinitePass>& mine = watch.first();
  constexpr double never = std::numeric_limits<double>::infinity();
  const double place = mine ? static_cast<double>(mine->place) : never;
  const double first = -grid.world().all_reduce_max(-place);
  std::string text;
  if (mine && place == first) {
    text = fmt::format(
        "first in the {} pass of {} on {}, micro-batch {} of its {}, {}", mine->backward ? "backward" : "forward",
        part_text(chunks[static_cast<std::size_t>(mine->chunk)], mine->backward), rank_text(grid), mine->micro_batch,
        batch.micro_batches.size(), samples_text(batch.micro_batches[static_cast<std::size_t>(mine->micro_batch)]));
  }
  return first_text(grid.world(), text);
}

std::string find_bad_gradient(const comm::ProcessGrid& grid, const device::Device& device,
                              const optim::Weights& weights, const optim::GradientSync& gradients) {
  std::string text;
  for (int bucket = 0; bucket < weights.num_buckets() && text.empty(); ++bucket) {
    const optim::BucketLayout& layout = weights.layout(bucket);
    const std::span<float> own = gradients.own(bucket);
    if (own.empty()) continue;
    for (const optim::OwnedRows& rows : layout.owned) {
      float* const data = own.data() + (rows.bucket_offset - layout.own_begin);
      if (kernels::all_finite(device, {.data = data, .shape = {rows.elements}})) continue;
      text = fmt::format("first in the gradient of `{}`, on {}", rows.parameter->name, rank_text(grid));
      break;
    }
  }
  return first_text(grid.world(), text);
}

}  // namespace trireme::train
