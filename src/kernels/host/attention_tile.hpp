// One tile of attention: 48 queries against 64 keys. Scores lie key by key, [64][48], with queries in the lanes, so
// that the softmax runs down the rows without any sum across lanes.
#pragma once

#include "kernels/host/attention.isa.hpp"
#include "kernels/host/integers.hpp"
#include "kernels/host/math.hpp"
#include "kernels/host/transpose.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

inline constexpr std::int64_t tile_queries = attention_tile_queries;
inline constexpr std::int64_t tile_keys = attention_tile_keys;
inline constexpr int tile_columns = 3;         // vectors of 16 queries
inline constexpr std::int64_t strip_keys = 8;  // keys are treated eight at a time
inline constexpr int tile_strips = tile_keys / strip_keys;

/// The queries of a tile and the interval of keys that each may see.
struct QueryTile {
  std::int64_t first, count;  // queries first .. first + count - 1
  std::int64_t position;      // key position of the first query
  alignas(64) std::uint32_t begin[tile_queries], end[tile_queries];
  std::int64_t columns;                                               // vectors in use
  std::int64_t column_begin[tile_columns], column_end[tile_columns];  // unions over a vector's queries
  std::int64_t all_begin, all_end, common_begin, common_end;          // union and intersection over the tile
};

inline QueryTile query_tile(const AttentionSizes& p, std::int64_t sequence, std::int64_t tile) {
  QueryTile q;
  q.first = tile * tile_queries;
  q.count = smaller(tile_queries, p.queries - q.first);
  q.position = p.keys - p.queries + q.first;
  q.columns = rounded_up(q.count, 16) / 16;
  q.all_begin = p.keys;
  q.common_end = p.keys;
  q.all_end = q.common_begin = 0;
  for (std::int64_t i = 0; i < 16 * q.columns; ++i) {
    // Lanes beyond the last query see what it sees: finite numbers that nobody reads.
    const std::int64_t position = q.position + smaller(i, q.count - 1);
    std::int64_t begin = p.window > 0 ? larger(0, position - p.window + 1) : 0;
    if (p.sequence_starts != nullptr) begin = larger(begin, p.sequence_starts[sequence * p.keys + position]);
    const std::int64_t end = p.causal ? position + 1 : p.keys;
    q.begin[i] = static_cast<std::uint32_t>(begin);
    q.end[i] = static_cast<std::uint32_t>(end);
    const std::int64_t column = i / 16;
    q.column_begin[column] = i % 16 == 0 ? begin : smaller(q.column_begin[column], begin);
    q.column_end[column] = i % 16 == 0 ? end : larger(q.column_end[column], end);
    q.all_begin = smaller(q.all_begin, begin);
    q.all_end = larger(q.all_end, end);
    q.common_begin = larger(q.common_begin, begin);
    q.common_end = smaller(q.common_end, end);
  }
  return q;
}

/// Which scores of a key tile are computed: whole strips of keys by whole vectors of queries.
struct TileMap {
  std::int64_t first_key;
  bool masked;                                                       // some computed score may have to be masked
  std::int64_t first_column[tile_strips], last_column[tile_strips];  // of a strip, half open; empty: 0, 0
  std::int64_t row_begin[tile_columns], row_end[tile_columns];       // keys of a column, relative to first_key
};

inline TileMap tile_map(const QueryTile& q, std::int64_t first_key) {
  TileMap map;
  map.first_key = first_key;
  map.masked = q.common_begin > first_key || q.common_end < first_key + tile_keys;
  for (int strip = 0; strip < tile_strips; ++strip) map.first_column[strip] = map.last_column[strip] = 0;
  for (std::int64_t column = 0; column < q.columns; ++column) {
    const std::int64_t begin = larger(0, q.column_begin[column] - first_key) / strip_keys * strip_keys;
    const std::int64_t end = smaller(tile_keys, rounded_up(larger(0, q.column_end[column] - first_key), strip_keys));
    map.row_begin[column] = begin;
    map.row_end[column] = larger(begin, end);
    for (std::int64_t strip = begin / strip_keys; strip < end / strip_keys; ++strip) {
      if (map.last_column[strip] == 0) map.first_column[strip] = column;
      map.last_column[strip] = column + 1;
    }
  }
  return map;
}

/// packed[rows][width] = factor * x, zero beyond row_size columns and count rows. x: count rows, x_stride apart.
template <class T>
void pack_rows(const T* x, std::int64_t x_stride, std::int64_t count, std::int64_t row_size, float factor,
               float* packed, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, packed += width) {
    for (std::int64_t i = 0; i < width; i += 16) {
      const std::int64_t left = row < count ? smaller(16, row_size - i) : 0;
      const F32x16 value = left == 16 ? load(x + row * x_stride + i)
                           : left > 0 ? load_first(x + row * x_stride + i, left)
                                      : zero();
      store(packed + i, value * broadcast(factor));
    }
  }
}

/// target[rows][row_size] = packed, rows of the target target_stride apart.
template <class T>
void unpack_rows(const float* packed, std::int64_t width, std::int64_t rows, std::int64_t row_size, T* target,
                 std::int64_t target_stride) {
  for (std::int64_t row = 0; row < rows; ++row, packed += width, target += target_stride) {
    for (std::int64_t k = 0; k < row_size; k += 16) {
      store_first(target + k, load(packed + k), smaller(16, row_size - k));
    }
  }
}

/// rows[i] *= factors[i].
inline void scale_rows(const float* factors, std::int64_t count, std::int64_t width, float* rows) {
  for (std::int64_t i = 0; i < count; ++i, rows += width) {
    const F32x16 factor = broadcast(factors[i]);
    for (std::int64_t k = 0; k < width; k += 16) store(rows + k, load(rows + k) * factor);
  }
}

/// True in the lanes whose query may see the key.
TRIREME_INLINE Mask16 visible(const QueryTile& q, std::int64_t column, std::int64_t key) {
  const U32x16 k = broadcast(static_cast<std::uint32_t>(key));
  const U32x16 next = k + broadcast(1U);
  return less_signed(k, load(q.end + 16 * column)) & less_signed(load(q.begin + 16 * column), next);
}

/// Dropout factors of sixteen queries, key after key in ascending order from a multiple of four.
class DropoutColumn {
 public:
  /// Of the queries of a column and head, beginning at key first_key.
  TRIREME_INLINE DropoutColumn(const AttentionSizes& p, const QueryTile& q, std::int64_t sequence, std::int64_t head,
                               std::int64_t column, std::int64_t first_key)
      : stream_(p.dropout) {
    stream_.counter[0] += static_cast<std::uint32_t>(sequence);
    alignas(64) std::uint32_t lower[16], upper[16], offsets[16];
    for (std::int64_t i = 0; i < 16; ++i) {
      const std::int64_t row = (p.first_head + head) * p.keys + q.position + 16 * column + i;
      const auto element = static_cast<std::uint64_t>(row * p.keys + first_key);
      lower[i] = static_cast<std::uint32_t>(element / 4);
      upper[i] = static_cast<std::uint32_t>(element >> 34) << dropout_site_bits;
      offsets[i] = static_cast<std::uint32_t>(element % 4);
    }
    lower_ = load(lower);
    upper_ = load(upper);
    offset_ = load(offsets);
    next_ = philox_of(stream_, lower_, upper_);
  }

  /// The factors of the next four keys.
  TRIREME_INLINE void next(F32x16 (&factors)[4]) {
    const PhiloxWords now = next_;
    lower_ = lower_ + broadcast(1U);
    upper_ = select(equal(lower_, broadcast(0U)), upper_ + broadcast(1U << dropout_site_bits), upper_);
    next_ = philox_of(stream_, lower_, upper_);
    const U32x16 words[7] = {now.words[0],   now.words[1],   now.words[2],  now.words[3],
                             next_.words[0], next_.words[1], next_.words[2]};
    for (int t = 0; t < 4; ++t) {
      // A row of queries begins anywhere within a counter's four words.
      U32x16 word = words[t];
      for (int offset = 1; offset < 4; ++offset) {
        word = select(equal(offset_, broadcast(static_cast<std::uint32_t>(offset))), words[t + offset], word);
      }
      factors[t] = dropout_factor(stream_, word);
    }
  }

 private:
  DropoutStream stream_;
  U32x16 lower_, upper_, offset_;  // element / 4, its upper half where a counter has it, and element % 4
  PhiloxWords next_;
};

}  // namespace trireme::kernels::host::TRIREME_ISA
