// Counter-based random numbers: every number is a pure function of a key and a counter.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11 (Philox 4x32-10).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trireme/device/device.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::kernels {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// One block of four random words (10 rounds).
[[nodiscard]] PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key);

/// A stable 64-bit number of a text (xxh3), for the purpose part of a counter.
[[nodiscard]] std::uint64_t purpose_of(std::string_view text);

/// The normal deviate (mean 0, deviation 1) of element `index` of the stream (seed, purpose).
[[nodiscard]] double normal_at(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index);

/// Draws a rectangle of the whole tensor: element at global row-major index i is
/// deviation * normal_at(seed, purpose_of(name), i), so no grid changes it. Zeros and ones are filled likewise.
/// target: [rectangle.extent], fp32, host.
void draw_initial(const device::Device& device, std::uint64_t seed, const tensor::Parameter& parameter,
                  const tensor::Shard& rectangle, float* target);
/// Its own shard into parameter.weight: fp32, or the same numbers rounded to bf16 or fp16.
void draw_initial(const device::Device& device, std::uint64_t seed, const tensor::Parameter& parameter);

/// Which elements drop out: a pure function of (seed, site, step, global sequence, element within the sequence).
/// Attention takes whole sequences and does not look at tokens and first_row.
struct Dropout {
  float probability = 0;  ///< 0: the kernels do nothing random
  std::uint64_t seed = 0;
  std::uint32_t site = 0;  ///< which dropout of the model; < 2^16
  std::uint64_t step = 0;
  std::int64_t first_sequence = 0;  ///< number within the global batch of the first sequence of this micro-batch
  std::int64_t tokens = 1;     ///< of a sequence: row n of a micro-batch is token n % tokens of sequence n / tokens
  std::int64_t first_row = 0;  ///< row of the micro-batch that the first row given to a kernel is
};

/// What a dropout's counter has room for: elements of a sequence, and sites.
inline constexpr std::int64_t max_dropout_elements = std::int64_t{1} << 50;
inline constexpr std::int64_t max_dropout_sites = std::int64_t{1} << 16;

/// True when the element survives. Philox counter {lower half of element / 4, sequence, step, site + 2^16 * upper
/// half}, word element % 4. sequence: number within the global batch; sequences and steps < 2^32.
[[nodiscard]] bool survives(const Dropout& dropout, std::int64_t sequence, std::int64_t element);

/// y = x * mask / (1 - p), the same mask for forward (x) and backward (dy). Dropped elements are 0
/// even where x is infinite. Element d of row n is element (token of n) * D + d of its sequence, so rows may be cut
/// anywhere (dropout.tokens, dropout.first_row).
/// x, y: [rows, D]; may be the same memory.
void dropout_apply(const device::Device& device, const Dropout& dropout, const tensor::Tensor& x,
                   const tensor::Tensor& y);

/// out = residual + dropout(branch); all [rows, D]; out may be residual.
void residual_add(const device::Device& device, const Dropout& dropout, const tensor::Tensor& residual,
                  const tensor::Tensor& branch, const tensor::Tensor& out);

}  // namespace trireme::kernels
