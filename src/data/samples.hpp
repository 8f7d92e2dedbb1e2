// From samples of token files to batches. B sequences of T = context tokens.
#pragma once

#include <algorithm>
#include <cstdint>

#include "trireme/data/loader.hpp"
#include "trireme/data/sample_order.hpp"

namespace trireme::data {

/// Whole samples of a file: T + 1 tokens each, of which neighbours share one.
[[nodiscard]] inline std::int64_t num_file_samples(const TokenFileInfo& info, std::int64_t context) {
  return (info.num_tokens - 1) / context;
}

/// The same with a last short one.
[[nodiscard]] inline std::int64_t num_file_windows(const TokenFileInfo& info, std::int64_t context) {
  return (info.num_tokens - 1 + context - 1) / context;
}

/// A batch of B sequences with no counted token.
[[nodiscard]] Batch make_empty_batch(const Dataset& dataset, std::int64_t num_sequences, std::int64_t context,
                                     std::int64_t first_sequence);

/// Fills sequence b of the batch with a sample; a window at the end of the file may be short. `number` goes to
/// batch.samples. Reads the file.
void fill_sequence(const Dataset& dataset, SampleId id, std::int64_t number, std::int64_t b, Batch& batch);

}  // namespace trireme::data
