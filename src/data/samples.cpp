#include "data/samples.hpp"

#include <algorithm>
#include <numeric>

namespace trireme::data {
namespace {

bool any_sequence_starts(const Dataset& dataset) {
  return std::any_of(dataset.files.begin(), dataset.files.end(),
                     [](const auto& file) { return file->info().has_sequence_starts; });
}

}  // namespace

std::int64_t Batch::counted() const {
  return std::count_if(weights.begin(), weights.end(), [](float weight) { return weight > 0; });
}

Batch make_empty_batch(const Dataset& dataset, std::int64_t num_sequences, std::int64_t context,
                       std::int64_t first_sequence) {
  Batch batch;
  batch.sequences = num_sequences;
  batch.context = context;
  batch.first_sequence = first_sequence;
  const auto size = static_cast<std::size_t>(num_sequences * context);
  batch.input.assign(size, 0);
  batch.targets.assign(size, 0);
  batch.weights.assign(size, 0.0F);
  batch.positions.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    batch.positions[i] = static_cast<std::int32_t>(i % static_cast<std::size_t>(context));
  }
  if (any_sequence_starts(dataset)) batch.sequence_starts.assign(size, 0);
  batch.samples.assign(static_cast<std::size_t>(num_sequences), -1);
  return batch;
}

void fill_sequence(const Dataset& dataset, SampleId id, std::int64_t number, std::int64_t b, Batch& batch) {
  const TokenFile& file = *dataset.files[static_cast<std::size_t>(id.file)];
  const std::int64_t begin = id.sample * batch.context;
  const auto length = static_cast<std::size_t>(std::min(batch.context, file.info().num_tokens - 1 - begin));
  std::vector<std::int32_t> tokens(length + 1);
  std::vector<std::uint8_t> mask(length + 1);
  std::vector<std::int64_t> starts(length + 1);
  file.read_tokens(begin, tokens);
  file.read_loss_mask(begin, mask);
  file.read_starts(begin, starts);

  const auto row = static_cast<std::size_t>(b * batch.context);
  for (std::size_t t = 0; t < length; ++t) {
    // A target that begins a document follows from nothing that its document holds.
    const bool begins_document = starts[t + 1] == begin + static_cast<std::int64_t>(t) + 1;
    batch.input[row + t] = tokens[t];
    batch.targets[row + t] = tokens[t + 1];
    batch.weights[row + t] = mask[t + 1] != 0 && !begins_document ? 1.0F : 0.0F;
  }
  for (std::size_t t = 0; t < static_cast<std::size_t>(batch.context); ++t) {
    const auto start =
        static_cast<std::int32_t>(starts[std::min(t, length - 1)] - begin);  // filling joins the last one
    batch.positions[row + t] = static_cast<std::int32_t>(t) - start;
    if (!batch.sequence_starts.empty()) batch.sequence_starts[row + t] = start;
  }
  batch.samples[static_cast<std::size_t>(b)] = number;
}

}  // namespace trireme::data
