// Which sample comes n-th: a pure function, no index is built.
#pragma once

#include <cstdint>
#include <vector>

namespace trireme::data {

struct SampleId {
  int file = 0;
  std::int64_t sample = 0;  ///< within the file: tokens [sample * context, sample * context + context]
  bool operator==(const SampleId&) const = default;
};

/// A stateless permutation of [0, size), different for each seed and stream: a Feistel network with cycle walking
/// (Black, Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002).
[[nodiscard]] std::int64_t permute(std::int64_t index, std::int64_t size, std::uint64_t seed, std::uint64_t stream);

/// The endless stream of training samples. Without weights each epoch holds every sample of every file once: blocks of
/// `shuffle_block` samples are permuted, then the samples within each. A step may straddle two epochs; nothing is
/// dropped. With weights, file f gives a share weights[f] / sum of every cycle of the stream, each file running through
/// epochs of its own.
class SampleOrder {
 public:
  /// samples: number per file. weights: empty or one per file, > 0 (>= 0 with at least one > 0).
  SampleOrder(std::vector<std::int64_t> samples, std::vector<double> weights, std::int64_t shuffle_block,
              std::uint64_t seed);
  [[nodiscard]] SampleId at(std::int64_t number) const;
  /// Samples of an epoch (without weights), or the number after which every file was seen once (with weights).
  [[nodiscard]] std::int64_t epoch_samples() const noexcept;

 private:
  [[nodiscard]] std::int64_t shuffled(std::int64_t index, std::int64_t size, std::uint64_t epoch, int stream) const;
  std::vector<std::int64_t> samples_;
  std::vector<std::int64_t> slots_;  ///< with weights: slots per file in a cycle
  std::int64_t shuffle_block_;
  std::uint64_t seed_;
  std::int64_t total_;
};

}  // namespace trireme::data
