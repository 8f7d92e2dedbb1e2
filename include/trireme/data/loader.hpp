// Batches for this rank, read while the step before computes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trireme/data/options.hpp"
#include "trireme/data/token_file.hpp"

namespace trireme::data {

/// One micro-batch as named arrays; B sequences of T = context tokens, row-major.
struct Batch {
  std::int64_t sequences = 0;
  std::int64_t context = 0;
  std::int64_t first_sequence = 0;             ///< number within the global batch of the first sequence
  std::vector<std::int32_t> input;             ///< [B, T]
  std::vector<std::int32_t> targets;           ///< [B, T]: the next token
  std::vector<float> weights;                  ///< [B, T]: 1 counted in the loss, 0 not
  std::vector<std::int32_t> positions;         ///< [B, T]: 0.. from the sequence (or document) start
  std::vector<std::int32_t> sequence_starts;   ///< [B, T]: index within the sequence; empty: all start at 0
  std::vector<std::int64_t> samples;           ///< [B]: global sample numbers (over all files, in file order)
  [[nodiscard]] std::int64_t counted() const;  ///< tokens of weight > 0
};

/// What this rank computes in a step: its micro-batches, in the order of their global numbers.
struct StepBatch {
  std::vector<Batch> micro_batches;
};

/// The files of a deck, opened and checked against each other (same tokenizer, enough tokens for one sample each).
struct Dataset {
  std::vector<std::shared_ptr<TokenFile>> files;
  [[nodiscard]] std::int64_t vocab() const;
  [[nodiscard]] std::int64_t num_samples(std::int64_t context) const;
};
[[nodiscard]] Dataset open_dataset(const std::vector<std::string>& paths, std::int64_t context);

struct LoaderOptions {
  std::int64_t context = 0;
  std::int64_t global_batch = 0;  ///< sequences of a step
  std::int64_t micro_batch = 0;   ///< sequences; divides global_batch / num_parts
  int part = 0;                   ///< this rank takes the part-th of num_parts contiguous shares of each step
  int num_parts = 1;
  std::uint64_t seed = 1;
  std::int64_t shuffle_block = 256;
  std::vector<double> weights;
};

/// Training batches. The batch of a step is a pure function of the step; the next step is read by a thread meanwhile.
class Loader {
 public:
  Loader(Dataset dataset, const LoaderOptions& options);
  ~Loader();
  /// The batch of step `step` (from 0). Steps in sequence come from the prefetch; any other is read at once. Errors of
  /// the reading thread are thrown here. The reference stays valid until the next call.
  const StepBatch& load(std::int64_t step);
  /// The samples of the whole global batch of a step, in order (not only this rank's).
  [[nodiscard]] std::vector<std::int64_t> global_samples(std::int64_t step) const;

 private:
  class Prefetch;
  std::unique_ptr<Prefetch> prefetch_;
};

/// Validation: samples 0, 1, 2, ... in file order, no shuffle; a last short window of each file is included, padded
/// with weight 0, so that every target token is counted exactly once. Batch number b of this part, in rounds that all
/// parts share; `count` limits the number of sequences (0 = all).
class ValidationSet {
 public:
  ValidationSet(Dataset dataset, std::int64_t context, std::int64_t micro_batch, int part, int num_parts,
                std::int64_t count);
  /// The same on every part.
  [[nodiscard]] std::int64_t num_rounds() const noexcept { return num_rounds_; }
  /// The micro-batch of this part in a round; sequences past the end have weight 0 everywhere.
  [[nodiscard]] Batch batch(std::int64_t round) const;

 private:
  Dataset dataset_;
  std::int64_t context_, micro_batch_, num_parts_, part_, num_sequences_, num_rounds_;
};

}  // namespace trireme::data
