#include "trireme/kernels/attention.hpp"

#include <algorithm>
#include <type_traits>

#include "trireme/base/error.hpp"

#include "kernels/element.hpp"
#include "kernels/host/attention.isa.hpp"
#include "kernels/host/dropout_stream.hpp"
#include "kernels/host/isa_call.hpp"
#include "kernels/portable/attention.hpp"

namespace trireme::kernels {

namespace {

using tensor::Tensor;

constexpr std::int64_t rounded_up(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

// The backward pass needs more; a multiple of 16.
std::int64_t scratch_floats_per_thread(const AttentionShape& shape) {
  const std::int64_t keys = rounded_up(shape.keys, host::attention_tile_keys);
  const std::int64_t width = rounded_up(shape.head_size, 16);
  const std::int64_t tile_width = rounded_up(shape.head_size, 32);
  return std::max(4 * keys * width + host::attention_tile_queries * (5 * width + 2 * host::attention_tile_keys),
                  7 * keys * tile_width / 2 + 240 * tile_width + 9728);
}

float* scratch_of(const Tensor& scratch, const AttentionShape& shape, int thread) {
  const auto address = reinterpret_cast<std::uintptr_t>(scratch.data);
  auto* begin = reinterpret_cast<float*>((address + 63) / 64 * 64);
  return begin + thread * scratch_floats_per_thread(shape);
}

void check([[maybe_unused]] const device::Device& device, [[maybe_unused]] const AttentionShape& shape,
           [[maybe_unused]] const Tensor& q, [[maybe_unused]] const Tensor& k, [[maybe_unused]] const Tensor& v,
           [[maybe_unused]] const Tensor& sequence_starts, [[maybe_unused]] const Tensor& out,
           [[maybe_unused]] const Tensor& log_sum_exp, [[maybe_unused]] const Tensor& scratch) {
  TRIREME_EXPECT(shape.first_head >= 0 && shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0);
  TRIREME_EXPECT(shape.queries <= shape.keys && (shape.window == 0 || shape.causal));
  TRIREME_EXPECT(q.size() == shape.batch * shape.queries * shape.heads * shape.head_size && out.size() == q.size());
  TRIREME_EXPECT(k.size() == shape.batch * shape.keys * shape.kv_heads * shape.head_size && v.size() == k.size());
  TRIREME_EXPECT(sequence_starts.empty() || sequence_starts.size() == shape.batch * shape.keys);
  TRIREME_EXPECT(log_sum_exp.size() == shape.batch * shape.heads * shape.queries);
  TRIREME_EXPECT(static_cast<std::int64_t>(scratch.bytes()) >= attention_scratch_bytes(device, shape));
}

template <class T>
host::AttentionArguments<T> arguments_of(const AttentionShape& shape, const Dropout& dropout, const Tensor& q,
                                         const Tensor& k, const Tensor& v, const Tensor& sequence_starts,
                                         const Tensor& out, const Tensor& log_sum_exp) {
  host::AttentionArguments<T> arguments{};
  arguments.queries = shape.queries;
  arguments.keys = shape.keys;
  arguments.heads = shape.heads;
  arguments.kv_heads = shape.kv_heads;
  arguments.first_head = shape.first_head;
  arguments.head_size = shape.head_size;
  arguments.window = shape.window;
  arguments.causal = shape.causal;
  arguments.drops = dropout.probability > 0;
  arguments.scale = shape.scale;
  arguments.sequence_starts = sequence_starts.empty() ? nullptr : sequence_starts.as<std::int32_t>();
  arguments.dropout = host::dropout_stream(dropout, 0);
  arguments.q = q.as<T>();
  arguments.k = k.as<T>();
  arguments.v = v.as<T>();
  arguments.out = out.as<T>();
  arguments.log_sum_exp = log_sum_exp.as<float>();
  return arguments;
}

/// bf16 has a form of its own where the processor multiplies it in tile registers.
template <class T>
auto forward_of(const device::Device& device) {
  if constexpr (std::is_same_v<T, Bf16>) return TRIREME_AMX_CALL(device, attention_forward_group<T>);
  return TRIREME_ISA_CALL(device, attention_forward_group<T>);
}

template <class T>
auto backward_of(const device::Device& device) {
  if constexpr (std::is_same_v<T, Bf16>) return TRIREME_AMX_CALL(device, attention_backward_group<T>);
  return TRIREME_ISA_CALL(device, attention_backward_group<T>);
}

std::int64_t num_tiles(std::int64_t count, std::int64_t tile) {
  return rounded_up(count, tile) / tile;
}

// Of matrix products, a pass that makes all gradients at once takes five and two separate ones seven; but the first is
// cut into groups only, the others anywhere.
bool one_pass_is_faster(std::int64_t groups, std::int64_t threads) {
  return 5 * rounded_up(groups, threads) <= 7 * groups;
}

template <class T>
void backward_in_one_pass(const device::Device& device, const AttentionShape& shape,
                          const host::AttentionArguments<T>& arguments, const Tensor& scratch) {
  const auto backward = backward_of<T>(device);
  const std::int64_t tiles = num_tiles(shape.queries, host::attention_tile_queries);
  device.parallel(
      shape.batch * shape.kv_heads,
      [&](std::int64_t group, int thread) {
        backward(arguments, group / shape.kv_heads, group % shape.kv_heads, host::AttentionGradient::all, 0, tiles,
                 scratch_of(scratch, shape, thread));
      },
      true);
}

template <class T>
void backward_in_parts(const device::Device& device, const AttentionShape& shape,
                       const host::AttentionArguments<T>& arguments, const Tensor& scratch) {
  const auto backward = backward_of<T>(device);
  const std::int64_t groups = shape.batch * shape.kv_heads;
  const auto in_parts = [&](host::AttentionGradient gradient, std::int64_t tiles) {
    const std::int64_t parts = std::min(tiles, rounded_up(4 * device.num_threads(), groups) / groups);
    device.parallel(
        groups * parts,
        [&](std::int64_t block, int thread) {
          const std::int64_t group = block / parts;
          const std::int64_t part = block % parts;
          backward(arguments, group / shape.kv_heads, group % shape.kv_heads, gradient, tiles * part / parts,
                   tiles * (part + 1) / parts, scratch_of(scratch, shape, thread));
        },
        true);
  };
  in_parts(host::AttentionGradient::queries, num_tiles(shape.queries, host::attention_tile_queries));
  in_parts(host::AttentionGradient::keys, num_tiles(shape.keys, host::attention_tile_keys));
}

}  // namespace

void attention_forward(const device::Device& device, const AttentionShape& shape, const Dropout& dropout,
                       const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& sequence_starts,
                       const Tensor& out, const Tensor& log_sum_exp, const Tensor& scratch) {
  check(device, shape, q, k, v, sequence_starts, out, log_sum_exp, scratch);
  if (q.size() == 0) return;
  if (device.space() != device::Space::host) {
    return portable::attention_forward(shape, dropout, q, k, v, sequence_starts, out, log_sum_exp);
  }
  const std::int64_t tiles = num_tiles(shape.queries, host::attention_tile_queries);
  const std::int64_t groups = shape.batch * shape.kv_heads;
  // Few groups are cut further, though each part packs the keys again.
  const std::int64_t parts = std::min(tiles, rounded_up(4 * device.num_threads(), groups) / groups);
  with_element_type(q.dtype, [&](auto element) {
    using T = decltype(element);
    const auto arguments = arguments_of<T>(shape, dropout, q, k, v, sequence_starts, out, log_sum_exp);
    const auto forward = forward_of<T>(device);
    device.parallel(
        groups * parts,
        [&](std::int64_t block, int thread) {
          const std::int64_t group = block / parts;
          const std::int64_t part = block % parts;
          forward(arguments, group / shape.kv_heads, group % shape.kv_heads, tiles * part / parts,
                  tiles * (part + 1) / parts, scratch_of(scratch, shape, thread));
        },
        true);
  });
}

void attention_backward(const device::Device& device, const AttentionShape& shape, const Dropout& dropout,
                        const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& sequence_starts,
                        const Tensor& out, const Tensor& log_sum_exp, const Tensor& dout, const Tensor& dq,
                        const Tensor& dk, const Tensor& dv, const Tensor& scratch) {
  check(device, shape, q, k, v, sequence_starts, out, log_sum_exp, scratch);
  TRIREME_EXPECT(dout.size() == q.size() && dq.size() == q.size() && dk.size() == k.size() && dv.size() == v.size());
  TRIREME_EXPECT(dk.dtype == dv.dtype && (dk.dtype == q.dtype || dk.dtype == Dtype::f32));
  if (device.space() != device::Space::host) {
    return portable::attention_backward(shape, dropout, q, k, v, sequence_starts, out, log_sum_exp, dout, dq, dk, dv);
  }
  with_element_type(q.dtype, [&](auto element) {
    using T = decltype(element);
    auto arguments = arguments_of<T>(shape, dropout, q, k, v, sequence_starts, out, log_sum_exp);
    arguments.dout = dout.as<T>();
    arguments.dq = dq.as<T>();
    const bool rounds = dk.dtype == q.dtype;
    arguments.dk = rounds ? dk.as<T>() : nullptr;
    arguments.dv = rounds ? dv.as<T>() : nullptr;
    arguments.unrounded_dk = rounds ? nullptr : dk.as<float>();
    arguments.unrounded_dv = rounds ? nullptr : dv.as<float>();
    const std::int64_t groups = shape.batch * shape.kv_heads;
    if (one_pass_is_faster(groups, device.num_threads())) {
      backward_in_one_pass(device, shape, arguments, scratch);
    } else {
      backward_in_parts(device, shape, arguments, scratch);
    }
  });
}

std::int64_t attention_scratch_bytes(const device::Device& device, const AttentionShape& shape) {
  return 64 + device.num_threads() * scratch_floats_per_thread(shape) * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace trireme::kernels
