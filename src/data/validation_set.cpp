#include <algorithm>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/data/loader.hpp"

#include "data/samples.hpp"

namespace trireme::data {
namespace {

std::int64_t num_windows(const Dataset& dataset, std::int64_t context) {
  std::int64_t sum = 0;
  for (const auto& file : dataset.files) sum += num_file_windows(file->info(), context);
  return sum;
}

/// Window `number` when those of all files are counted through.
SampleId window_at(const Dataset& dataset, std::int64_t context, std::int64_t number) {
  int file = 0;
  while (true) {
    const std::int64_t windows = num_file_windows(dataset.files[static_cast<std::size_t>(file)]->info(), context);
    if (number < windows) return {file, number};
    number -= windows;
    ++file;
  }
}

}  // namespace

ValidationSet::ValidationSet(Dataset dataset, std::int64_t context, std::int64_t micro_batch, int part, int num_parts,
                             std::int64_t count)
    : dataset_(std::move(dataset)),
      context_(context),
      micro_batch_(micro_batch),
      num_parts_(num_parts),
      part_(part),
      num_sequences_(num_windows(dataset_, context)) {
  TRIREME_EXPECT(micro_batch > 0 && part >= 0 && part < num_parts && count >= 0);
  if (count > 0) num_sequences_ = std::min(num_sequences_, count);
  const std::int64_t per_round = micro_batch_ * num_parts_;
  num_rounds_ = (num_sequences_ + per_round - 1) / per_round;
}

Batch ValidationSet::batch(std::int64_t round) const {
  TRIREME_EXPECT(round >= 0 && round < num_rounds_);
  const std::int64_t first = (round * num_parts_ + part_) * micro_batch_;
  Batch batch = make_empty_batch(dataset_, micro_batch_, context_, first);
  for (std::int64_t b = 0; b < micro_batch_ && first + b < num_sequences_; ++b) {
    fill_sequence(dataset_, window_at(dataset_, context_, first + b), first + b, b, batch);
  }
  return batch;
}

}  // namespace trireme::data
