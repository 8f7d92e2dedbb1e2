// How the tensor dimension is cut: in slices, whatever the number of ranks that share them.
#pragma once

#include <cstdint>

namespace trireme::layers {

/// What the slices must divide.
struct SliceSizes {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t mlp_width = 0;
};

/// True when the tensor dimension can be cut in `slices`: they divide heads and mlp_width, and either divide kv_heads
/// or are a multiple of it (each key/value head then serves several slices).
[[nodiscard]] bool can_slice(const SliceSizes& sizes, std::int64_t slices);

/// numerics.tensor_slices for `tensor_size` ranks: `requested` if not 0, else, when invariant, the largest power of two
/// up to 8 that can_slice() and is a multiple of tensor_size (tensor_size itself where none is: close to the other
/// grids, not equal), else tensor_size. Throws InputError (naming numerics.tensor_slices, grid.tensor, model.heads,
/// model.kv_heads, model.mlp_width and the legal numbers) when a requested number is no power of two, cannot slice or
/// is no multiple of tensor_size, or when tensor_size itself cannot slice.
[[nodiscard]] std::int64_t resolve_slices(std::int64_t requested, const SliceSizes& sizes, int tensor_size,
                                          bool invariant);

}  // namespace trireme::layers
