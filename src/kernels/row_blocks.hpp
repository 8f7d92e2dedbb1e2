// Sums over tokens run over fixed blocks of rows, whatever the threads; the blocks are added in a balanced tree.
#pragma once

#include <cstdint>

namespace trireme::kernels {

/// Rows of a block; the last block may have fewer.
inline constexpr std::int64_t block_rows = 32;

}  // namespace trireme::kernels
