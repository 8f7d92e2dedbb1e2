#include "trireme/data/sample_order.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/io/hash.hpp"

namespace trireme::data {
namespace {

/// Samples of a cycle of weighted files: shares are exact to a hundredth of a percent, in every cycle.
constexpr std::int64_t cycle_samples = 10000;

enum class Purpose : std::uint64_t { short_block, block, within_block, cycle };

/// A number for the stream of one use of permute(), different for every (purpose, epoch, file, block).
std::uint64_t stream_of(Purpose purpose, std::uint64_t epoch, int file, std::int64_t block = 0) {
  const std::array<std::uint64_t, 4> words{static_cast<std::uint64_t>(purpose), epoch, static_cast<std::uint64_t>(file),
                                           static_cast<std::uint64_t>(block)};
  return io::hash64(words.data(), sizeof(words));
}

/// cycle_samples slots shared out in proportion to the weights, by the largest remainder; ties go to the earlier file.
std::vector<std::int64_t> share_slots(const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> slots(weights.size());
  std::vector<double> remainders(weights.size());
  for (std::size_t f = 0; f < weights.size(); ++f) {
    const double exact = static_cast<double>(cycle_samples) * (weights[f] / sum);
    slots[f] = static_cast<std::int64_t>(exact);
    remainders[f] = exact - static_cast<double>(slots[f]);
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return remainders[a] > remainders[b]; });
  std::int64_t left = cycle_samples - std::accumulate(slots.begin(), slots.end(), std::int64_t{0});
  for (std::size_t i = 0; left > 0; ++i, --left) ++slots[order[i]];
  return slots;
}

void check_weights(const std::vector<double>& weights, std::size_t num_files) {
  if (weights.size() != num_files) {
    throw InputError(fmt::format("`data.weights` has {} numbers (there are {} training files) give one a file",
                                 weights.size(), num_files));
  }
  double sum = 0;
  for (const double weight : weights) {
    if (!std::isfinite(weight) || weight < 0) {
      throw InputError(fmt::format("`data.weights` holds `{}` (a weight is a finite number >= 0)", weight));
    }
    sum += weight;
  }
  if (!(sum > 0) || !std::isfinite(sum)) {
    throw InputError("`data.weights` has no usable sum (at least one weight must be above 0)");
  }
  const std::vector<std::int64_t> slots = share_slots(weights);
  for (std::size_t f = 0; f < weights.size(); ++f) {
    if (weights[f] > 0 && slots[f] == 0) {
      throw InputError(
          fmt::format("`data.weights`: `{}` is too small beside the sum `{}` (the file would never be read) "
                      "raise it to {} of the sum, or set it to 0",
                      weights[f], sum, 1.0 / static_cast<double>(cycle_samples)));
    }
  }
}

}  // namespace

SampleOrder::SampleOrder(std::vector<std::int64_t> samples, std::vector<double> weights, std::int64_t shuffle_block,
                         std::uint64_t seed)
    : samples_(std::move(samples)),
      shuffle_block_(shuffle_block),
      seed_(seed),
      total_(std::accumulate(samples_.begin(), samples_.end(), std::int64_t{0})) {
  TRIREME_EXPECT(!samples_.empty() && *std::min_element(samples_.begin(), samples_.end()) > 0);
  if (shuffle_block_ < 1) {
    throw InputError(fmt::format("`data.shuffle_block` is `{}` (must be at least 1)", shuffle_block_));
  }
  if (weights.empty()) return;
  check_weights(weights, samples_.size());
  slots_ = share_slots(weights);
}

SampleId SampleOrder::at(std::int64_t number) const {
  TRIREME_EXPECT(number >= 0);
  if (slots_.empty()) {
    std::int64_t sample = shuffled(number % total_, total_, static_cast<std::uint64_t>(number / total_), 0);
    int file = 0;
    for (; sample >= samples_[static_cast<std::size_t>(file)]; ++file)
      sample -= samples_[static_cast<std::size_t>(file)];
    return {file, sample};
  }
  const std::int64_t cycle = number / cycle_samples;
  std::int64_t slot = permute(number % cycle_samples, cycle_samples, seed_,
                              stream_of(Purpose::cycle, static_cast<std::uint64_t>(cycle), 0));
  std::size_t file = 0;
  for (; slot >= slots_[file]; ++file) slot -= slots_[file];
  const std::int64_t nth = cycle * slots_[file] + slot;  // of this file's own stream
  const auto epoch = static_cast<std::uint64_t>(nth / samples_[file]);
  return {static_cast<int>(file), shuffled(nth % samples_[file], samples_[file], epoch, static_cast<int>(file) + 1)};
}

/// Place `index` of an epoch's order over `size` samples. The short block, if there is one, stands at a place of its
/// own choice between the permuted full blocks.
std::int64_t SampleOrder::shuffled(std::int64_t index, std::int64_t size, std::uint64_t epoch, int stream) const {
  const std::int64_t full_blocks = size / shuffle_block_;
  const std::int64_t short_samples = size % shuffle_block_;
  std::int64_t block = full_blocks;
  std::int64_t block_samples = short_samples;
  const std::int64_t short_begin =
      short_samples == 0
          ? size
          : shuffle_block_ * permute(0, full_blocks + 1, seed_, stream_of(Purpose::short_block, epoch, stream));
  std::int64_t within = index - short_begin;
  if (within < 0 || within >= short_samples) {
    const std::int64_t among_full = index < short_begin ? index : index - short_samples;
    block = permute(among_full / shuffle_block_, full_blocks, seed_, stream_of(Purpose::block, epoch, stream));
    block_samples = shuffle_block_;
    within = among_full % shuffle_block_;
  }
  return block * shuffle_block_ +
         permute(within, block_samples, seed_, stream_of(Purpose::within_block, epoch, stream, block));
}

std::int64_t SampleOrder::epoch_samples() const noexcept {
  if (slots_.empty()) return total_;
  std::int64_t cycles = 0;
  for (std::size_t f = 0; f < slots_.size(); ++f) {
    if (slots_[f] > 0) cycles = std::max(cycles, (samples_[f] + slots_[f] - 1) / slots_[f]);
  }
  return cycles * cycle_samples;
}

}  // namespace trireme::data
