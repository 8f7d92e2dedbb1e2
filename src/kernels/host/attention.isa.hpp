// What attention's launcher hands to the tile kernels: plain numbers and pointers.
#pragma once

#include <cstdint>

#include "kernels/host/isa.hpp"
#include "kernels/host/philox_simd.hpp"

namespace trireme::kernels::host {

inline constexpr std::int64_t attention_tile_queries = 48;  ///< three vectors of queries
inline constexpr std::int64_t attention_tile_keys = 64;

/// The sizes and masks of trireme/kernels/attention.hpp.
struct AttentionSizes {
  std::int64_t queries, keys, heads, kv_heads, first_head, head_size, window;
  bool causal, drops;
  float scale;
  const std::int32_t* sequence_starts;  // [B, S] or nullptr
  DropoutStream dropout;                // of sequence 0
};

/// With the arrays; the gradients are used backward only.
template <class T>
struct AttentionArguments : AttentionSizes {
  const T *q, *k, *v;
  T* out;              // written forward, read backward
  float* log_sum_exp;  // likewise
  const T* dout;
  T *dq, *dk, *dv;
  float *unrounded_dk, *unrounded_dv;  // written instead of dk and dv where those are nullptr
};

// A thread's scratch in floats, S keys rounded up to whole tiles, W head size rounded up to 16:
// forward 2 S W + 48 (3 W + 64), backward 4 S W + 48 (5 W + 128). With tile registers W is rounded up to 32, and it is
// S W + 152 W + 4608 and 3.5 S W + 240 W + 9728. On 64 bytes.

/// Attention of the query tiles [first_tile, last_tile) of all heads that read one key/value head of one sequence.
TRIREME_ISA_DECLARE(template <class T> void attention_forward_group(const AttentionArguments<T>& arguments,
                                                                    std::int64_t sequence, std::int64_t kv_head,
                                                                    std::int64_t first_tile, std::int64_t last_tile,
                                                                    float* scratch))

TRIREME_AMX_DECLARE(template <class T> void attention_forward_group(const AttentionArguments<T>& arguments,
                                                                    std::int64_t sequence, std::int64_t kv_head,
                                                                    std::int64_t first_tile, std::int64_t last_tile,
                                                                    float* scratch))

/// What a call of the backward pass makes; every cut gives the same bits.
enum class AttentionGradient : std::uint8_t {
  all,      ///< dq, dk, dv from one computation of the scores
  queries,  ///< dq of a range of query tiles
  keys      ///< dk and dv of a range of key tiles
};

/// Gradients of one key/value head of one sequence and of the heads that read it. [first_tile, last_tile) is the range
/// of queries or keys, and every query for AttentionGradient::all.
TRIREME_ISA_DECLARE(template <class T>
                    void attention_backward_group(const AttentionArguments<T>& arguments, std::int64_t sequence,
                                                  std::int64_t kv_head, AttentionGradient gradient,
                                                  std::int64_t first_tile, std::int64_t last_tile, float* scratch))
TRIREME_AMX_DECLARE(template <class T>
                    void attention_backward_group(const AttentionArguments<T>& arguments, std::int64_t sequence,
                                                  std::int64_t kv_head, AttentionGradient gradient,
                                                  std::int64_t first_tile, std::int64_t last_tile, float* scratch))

}  // namespace trireme::kernels::host
