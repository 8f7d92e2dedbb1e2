// What the tests of attention run on: awkward sizes, and inputs and outputs of a forward and a backward pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "trireme/kernels/attention.hpp"

#include "kernels/portable/attention.hpp"
#include "support/array.hpp"

namespace trireme::kernels::test_attention {

using test::Array;

struct Sizes {
  std::int64_t batch, queries, keys, heads, kv_heads, head_size;
  std::int64_t window = 0;
  bool causal = true;
  bool documents = false;
  float dropout = 0;
  std::int64_t first_head = 0;
};

// Every border of tiles (48 queries, 64 keys), of vectors (16) and of strips (8) is crossed.
inline const Sizes all_sizes[] = {
    {1, 1, 1, 1, 1, 1},
    {2, 17, 17, 2, 2, 9},
    {1, 97, 97, 6, 2, 64},
    {1, 97, 97, 6, 2, 64, 0, true, true, 0.3F},
    {2, 131, 131, 3, 1, 9, 0, true, true},
    {1, 130, 130, 2, 2, 80},
    {1, 49, 49, 2, 1, 128, 0, true, false, 0.1F},
    {1, 97, 97, 2, 2, 16, 0, false},
    {1, 65, 65, 2, 1, 33, 0, false, true, 0.5F},
    {1, 150, 150, 2, 2, 32, 1},
    {2, 150, 150, 2, 2, 16, 70, true, true},
    {1, 1, 97, 4, 2, 64},
    {1, 5, 131, 4, 4, 20, 0, true, true, 0.2F},
    {1, 50, 200, 2, 1, 64, 90},
    {1, 97, 97, 2, 1, 8, 0, true, true, 0.3F, 5},
    // Elements of dropout on both sides of 2^34, within a row of queries.
    {1, 97, 97, 3, 1, 8, 0, true, false, 0.5F, (std::int64_t{1} << 34) / (97 * 97) - 1},
    {1, 64, 131, 2, 2, 8, 0, false, false, 0.5F, (std::int64_t{1} << 34) / (131 * 131)},
};

inline std::string name_of(const Sizes& s) {
  return "queries " + std::to_string(s.queries) + " keys " + std::to_string(s.keys) + " heads " +
         std::to_string(s.heads) + "/" + std::to_string(s.kv_heads) + " size " + std::to_string(s.head_size) +
         " window " + std::to_string(s.window) + " dropout " + std::to_string(s.dropout);
}

inline Array<std::int32_t> document_starts(std::int64_t batch, std::int64_t keys) {
  Array<std::int32_t> starts({batch, keys});
  for (std::int64_t i = 0; i < batch * keys; ++i) {
    const std::int64_t length = 23 + 14 * (i / keys);
    starts.values()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % keys / length * length);
  }
  return starts;
}

/// Elements of type T; dk and dv may also be written elsewhere.
template <class T>
struct AttentionOf {
  explicit AttentionOf(const Sizes& the_sizes)
      : sizes(the_sizes),
        q({sizes.batch, sizes.queries, sizes.heads, sizes.head_size}),
        k({sizes.batch, sizes.keys, sizes.kv_heads, sizes.head_size}),
        v(k),
        dout(q),
        out(q),
        dq(q),
        dk(k),
        dv(k),
        log_sum_exp({sizes.batch, sizes.heads, sizes.queries}),
        starts(document_starts(sizes.batch, sizes.keys)) {}

  [[nodiscard]] AttentionShape shape() const {
    return {.batch = sizes.batch,
            .queries = sizes.queries,
            .keys = sizes.keys,
            .heads = sizes.heads,
            .kv_heads = sizes.kv_heads,
            .first_head = sizes.first_head,
            .head_size = sizes.head_size,
            .causal = sizes.causal,
            .window = sizes.window,
            .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(sizes.head_size)))};
  }
  [[nodiscard]] Dropout dropout() const {
    return {.probability = sizes.dropout, .seed = 0x123456789ABCDEF0U, .site = 3, .step = 77, .first_sequence = 5};
  }
  [[nodiscard]] tensor::Tensor starts_or_none() { return sizes.documents ? starts.tensor() : tensor::Tensor{}; }

  void forward(const device::Device& device) {
    Array<std::uint8_t> scratch = new_scratch(device);
    attention_forward(device, shape(), dropout(), q.tensor(), k.tensor(), v.tensor(), starts_or_none(), out.tensor(),
                      log_sum_exp.tensor(), scratch.tensor());
  }
  void backward(const device::Device& device, const tensor::Tensor& to_dk, const tensor::Tensor& to_dv) {
    Array<std::uint8_t> scratch = new_scratch(device);
    attention_backward(device, shape(), dropout(), q.tensor(), k.tensor(), v.tensor(), starts_or_none(), out.tensor(),
                       log_sum_exp.tensor(), dout.tensor(), dq.tensor(), to_dk, to_dv, scratch.tensor());
  }
  void run(const device::Device& device) {
    forward(device);
    backward(device, dk.tensor(), dv.tensor());
  }

  void portable_forward() {
    portable::attention_forward(shape(), dropout(), q.tensor(), k.tensor(), v.tensor(), starts_or_none(), out.tensor(),
                                log_sum_exp.tensor());
  }
  void portable_backward(const tensor::Tensor& to_dk, const tensor::Tensor& to_dv) {
    portable::attention_backward(shape(), dropout(), q.tensor(), k.tensor(), v.tensor(), starts_or_none(), out.tensor(),
                                 log_sum_exp.tensor(), dout.tensor(), dq.tensor(), to_dk, to_dv);
  }
  void run_portable() {
    portable_forward();
    portable_backward(dk.tensor(), dv.tensor());
  }

  Sizes sizes;
  Array<T> q, k, v, dout, out, dq, dk, dv;
  Array<float> log_sum_exp;
  Array<std::int32_t> starts;

 private:
  // Scratch that was never written must not matter: all bits set is a NaN.
  [[nodiscard]] Array<std::uint8_t> new_scratch(const device::Device& device) const {
    const std::int64_t bytes = attention_scratch_bytes(device, shape());
    return {{bytes}, std::vector<std::uint8_t>(static_cast<std::size_t>(bytes), 0xFF)};
  }
};

/// With random inputs; the outputs hold numbers that must not matter.
struct Attention : AttentionOf<float> {
  explicit Attention(const Sizes& the_sizes) : AttentionOf<float>(the_sizes) {
    test::Numbers numbers(11);
    for (Array<float>* array : {&q, &k, &v, &dout, &out, &dq, &dk, &dv}) {
      *array = numbers.floats(array->tensor().shape);
    }
  }
};

}  // namespace trireme::kernels::test_attention
