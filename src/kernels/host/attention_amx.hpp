// The products of attention's tiles in bf16 by the processor's tile registers; sums are fp32, the softmax's results are
// rounded to bf16 before they are multiplied. The classes have the members of those in attention_float.hpp.
//
// Where the queries are the columns of a product they lie in pairs of the summed index, as the tiles want it: weights
// come out of the softmax with queries in the lanes, so two rows of keys make one row of pairs.
#pragma once

#include "kernels/host/amx.hpp"
#include "kernels/host/attention_tile.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

inline constexpr std::int64_t padded_queries = 64;  // a tile's queries, up to whole depths
inline constexpr std::int64_t key_blocks = tile_keys / 16;

/// scores[key][query] = factor * sum over the head size of keys[key] * query_pairs[.][query], where the map says so.
inline void make_tile_scores(const QueryTile& q, const TileMap& map, const std::uint16_t* keys, std::int64_t width,
                             const std::uint32_t* query_pairs, float factor, float* scores) {
  for (std::int64_t block = 0; block < key_blocks; ++block) {
    if (map.last_column[2 * block] == 0 && map.last_column[2 * block + 1] == 0) continue;
    const std::int64_t row = 16 * block;
    float* const target = scores + row * tile_queries;
    tile_product<Begin::zero>(
        {keys + (map.first_key + row) * width, width, query_pairs, tile_queries, target, tile_queries}, q.columns,
        width / tile_depth);
    if (factor == 1.0F) continue;
    for (std::int64_t i = 0; i < 16 * tile_queries; i += 16) store(target + i, load(target + i) * broadcast(factor));
  }
}

/// Rounds factor * weights[64][48] to bf16, 0 where none were computed: to rows[64][64] and to pairs[32][48] of keys.
struct RoundedWeights {
  std::uint16_t* rows;   // or nullptr
  std::uint32_t* pairs;  // or nullptr
};
inline void round_weights(const QueryTile& q, const TileMap& map, const float* weights, float factor,
                          const RoundedWeights& rounded) {
  for (std::int64_t column = 0; column < q.columns; ++column) {
    for (std::int64_t row = 0; row < tile_keys; row += 2) {
      const bool computed = row >= map.row_begin[column] && row < map.row_end[column];
      const float* place = weights + row * tile_queries + 16 * column;
      const F32x16 scale = broadcast(factor);
      const __m512i first = computed ? bf16_words(load(place) * scale) : _mm512_setzero_si512();
      const __m512i second = computed ? bf16_words(load(place + tile_queries) * scale) : _mm512_setzero_si512();
      if (rounded.rows != nullptr) {
        std::uint16_t* target = rounded.rows + row * padded_queries + 16 * column;
        store_u16(target, U32x16{first});
        store_u16(target + padded_queries, U32x16{second});
      }
      if (rounded.pairs != nullptr) {
        store(rounded.pairs + row / 2 * tile_queries + 16 * column, U32x16{first} | shift_left<16>(U32x16{second}));
      }
    }
  }
}

/// sums[d][query] += sum over the tile's keys of transposed[d][key] * weight_pairs[.][query].
inline void gather_tile(const QueryTile& q, const TileMap& map, const std::uint16_t* transposed, std::int64_t num_keys,
                        std::int64_t width, const std::uint32_t* weight_pairs, float* sums) {
  for (std::int64_t d = 0; d < width; d += 16) {
    tile_product<Begin::sum>({transposed + d * num_keys + map.first_key, num_keys, weight_pairs, tile_queries,
                              sums + d * tile_queries, tile_queries},
                             q.columns, tile_keys / tile_depth);
  }
}

/// keys[key][d] += sum over the tile's queries of weight_rows[key][query] * row_pairs[.][d].
inline void scatter_tile(const TileMap& map, const std::uint16_t* weight_rows, const std::uint32_t* row_pairs,
                         std::int64_t width, float* keys) {
  for (std::int64_t block = 0; block < key_blocks; ++block) {
    if (map.last_column[2 * block] == 0 && map.last_column[2 * block + 1] == 0) continue;
    const std::int64_t row = 16 * block;
    tile_product<Begin::sum>({weight_rows + row * padded_queries, padded_queries, row_pairs, width,
                              keys + (map.first_key + row) * width, width},
                             width / 16, padded_queries / tile_depth);
  }
}

/// Hands out a thread's scratch, each array on 64 bytes.
class ScratchCursor {
 public:
  explicit ScratchCursor(float* scratch) : next_(scratch) {}
  template <class T>
  T* take(std::int64_t count) {
    T* const array = reinterpret_cast<T*>(next_);
    next_ += rounded_up(count * static_cast<std::int64_t>(sizeof(T)), 64) / 4;
    return array;
  }

 private:
  float* next_;
};

/// x[rows][width] of keys or values, for the products over the head size, and transposed [width][all rows], for those
/// over keys. `pairs` has room for rows / 2 x width words.
inline void transpose_keys(const std::uint16_t* packed, std::int64_t rows, std::int64_t width, std::uint32_t* pairs,
                           std::uint16_t* transposed, std::int64_t num_keys) {
  // Sixteen pairs of rows at a time keep the pairs in the cache.
  for (std::int64_t row = 0; row < rows; row += 32) {
    pair_rows(packed + row * width, 32, width, pairs);
    transpose_words(pairs, width, 16, width, reinterpret_cast<std::uint32_t*>(transposed + row), num_keys / 2);
  }
}

/// Of the forward pass.
class TileForward {
 public:
  TileForward(const AttentionSizes& p, float* scratch)
      : width_(rounded_up(p.head_size, tile_depth)), num_keys_(rounded_up(p.keys, tile_keys)) {
    ScratchCursor cursor(scratch);
    keys_ = cursor.take<std::uint16_t>(num_keys_ * width_);
    values_transposed_ = cursor.take<std::uint16_t>(num_keys_ * width_);
    queries_ = cursor.take<std::uint16_t>(padded_queries * width_);
    query_pairs_ = cursor.take<std::uint32_t>(width_ / 2 * tile_queries);
    weight_pairs_ = cursor.take<std::uint32_t>(tile_keys / 2 * tile_queries);
    sums_ = cursor.take<float>(width_ * tile_queries);
    rows_ = cursor.take<float>(tile_queries * width_);
    scores_ = cursor.take<float>(tile_keys * tile_queries);
  }

  void take_keys(const AttentionArguments<Bf16>& p, const Bf16* k, const Bf16* v) {
    const std::int64_t stride = p.kv_heads * p.head_size;
    copy_rows(v, stride, p.keys, p.head_size, keys_, num_keys_, width_);  // the place of the keys until they come
    transpose_keys(keys_, num_keys_, width_, reinterpret_cast<std::uint32_t*>(rows_), values_transposed_, num_keys_);
    copy_rows(k, stride, p.keys, p.head_size, keys_, num_keys_, width_);
  }

  void begin_tile(const AttentionArguments<Bf16>& p, const QueryTile& q, const Bf16* queries) {
    copy_rows(queries, p.heads * p.head_size, q.count, p.head_size, queries_, tile_queries, width_);
    transpose_words(queries_, width_ / 2, tile_queries, width_ / 2, query_pairs_, tile_queries);
    for (std::int64_t i = 0; i < width_ * tile_queries; i += 16) store(sums_ + i, zero());
  }

  float* make_scores(const AttentionSizes& p, const QueryTile& q, const TileMap& map) {
    make_tile_scores(q, map, keys_, width_, query_pairs_, p.scale, scores_);
    return scores_;
  }

  void scale_sums(const QueryTile& q, const float* factors) {
    for (std::int64_t column = 0; column < q.columns; ++column) {
      const F32x16 factor = load(factors + 16 * column);
      for (std::int64_t d = 0; d < width_; ++d) {
        float* place = sums_ + d * tile_queries + 16 * column;
        store(place, load(place) * factor);
      }
    }
  }

  void add_values(const QueryTile& q, const TileMap& map) {
    round_weights(q, map, scores_, 1.0F, {nullptr, weight_pairs_});
    gather_tile(q, map, values_transposed_, num_keys_, width_, weight_pairs_, sums_);
  }

  void write_sums(const AttentionArguments<Bf16>& p, const QueryTile& q, Bf16* out) {
    transpose(sums_, tile_queries, width_, tile_queries, rows_, width_);
    unpack_rows(rows_, width_, q.count, p.head_size, out, p.heads * p.head_size);
  }

 private:
  TileRegisters registers_;
  std::int64_t width_, num_keys_;     // head size up to whole depths, keys up to whole tiles
  std::uint16_t* keys_;               // [keys][width]
  std::uint16_t* values_transposed_;  // [width][keys]
  std::uint16_t* queries_;            // [48][width]
  std::uint32_t* query_pairs_;        // [width / 2][48]
  std::uint32_t* weight_pairs_;       // [32][48]
  float* sums_;                       // [width][48]
  float* rows_;                       // [48][width]
  float* scores_;                     // [64][48]
};

/// Of the backward pass.
class TileBackward {
 public:
  TileBackward(const AttentionSizes& p, float* scratch)
      : width_(rounded_up(p.head_size, tile_depth)), num_keys_(rounded_up(p.keys, tile_keys)) {
    ScratchCursor cursor(scratch);
    keys_ = cursor.take<std::uint16_t>(num_keys_ * width_);
    values_ = cursor.take<std::uint16_t>(num_keys_ * width_);
    keys_transposed_ = cursor.take<std::uint16_t>(num_keys_ * width_);
    dkeys_ = cursor.take<float>(num_keys_ * width_);
    dvalues_ = cursor.take<float>(num_keys_ * width_);
    packed_ = cursor.take<std::uint16_t>(padded_queries * width_);
    query_pairs_ = cursor.take<std::uint32_t>(width_ / 2 * tile_queries);
    dout_pairs_ = cursor.take<std::uint32_t>(width_ / 2 * tile_queries);
    query_row_pairs_ = cursor.take<std::uint32_t>(padded_queries / 2 * width_);
    dout_row_pairs_ = cursor.take<std::uint32_t>(padded_queries / 2 * width_);
    dqueries_ = cursor.take<float>(width_ * tile_queries);
    rows_ = cursor.take<float>(tile_queries * width_);
    scores_ = cursor.take<float>(tile_keys * tile_queries);
    dscores_ = cursor.take<float>(tile_keys * tile_queries);
    weight_rows_ = cursor.take<std::uint16_t>(tile_keys * padded_queries);
    weight_pairs_ = cursor.take<std::uint32_t>(tile_keys / 2 * tile_queries);
    // Queries that a tile does not have, or not in use.
    for (std::int64_t i = 0; i < tile_keys * padded_queries; i += 16) store_u16(weight_rows_ + i, broadcast(0U));
  }

  void take_keys(const AttentionArguments<Bf16>& p, std::int64_t begin, std::int64_t end, const Bf16* k,
                 const Bf16* v) {
    const std::int64_t stride = p.kv_heads * p.head_size;
    const std::int64_t rows = rounded_up(end - begin, tile_keys);
    copy_rows(k, stride, end - begin, p.head_size, keys_ + begin * width_, rows, width_);
    copy_rows(v, stride, end - begin, p.head_size, values_ + begin * width_, rows, width_);
    transpose_keys(keys_ + begin * width_, rows, width_, reinterpret_cast<std::uint32_t*>(rows_),
                   keys_transposed_ + begin, num_keys_);
    for (std::int64_t i = begin * width_; i < (begin + rows) * width_; i += 16) {
      store(dkeys_ + i, zero());
      store(dvalues_ + i, zero());
    }
  }

  void begin_tile(const AttentionArguments<Bf16>& p, const QueryTile& q, const Bf16* queries, const Bf16* dout) {
    take_queries(p, q, queries, query_pairs_, query_row_pairs_);
    take_queries(p, q, dout, dout_pairs_, dout_row_pairs_);
    for (std::int64_t i = 0; i < width_ * tile_queries; i += 16) store(dqueries_ + i, zero());
    clear_weights(q);
  }

  void make_scores(const AttentionSizes& p, const QueryTile& q, const TileMap& map) {
    make_tile_scores(q, map, keys_, width_, query_pairs_, p.scale, scores_);
    make_tile_scores(q, map, values_, width_, dout_pairs_, 1.0F, dscores_);
  }
  float* scores() { return scores_; }
  float* dscores() { return dscores_; }

  void add_to_keys(const AttentionSizes& p, const QueryTile& q, const TileMap& map) {
    round_weights(q, map, scores_, 1.0F, {weight_rows_, nullptr});
    scatter_tile(map, weight_rows_, dout_row_pairs_, width_, dvalues_);
    round_weights(q, map, dscores_, p.scale, {weight_rows_, nullptr});
    scatter_tile(map, weight_rows_, query_row_pairs_, width_, dkeys_);
  }
  void add_to_queries(const AttentionSizes& p, const QueryTile& q, const TileMap& map) {
    round_weights(q, map, dscores_, p.scale, {nullptr, weight_pairs_});
    gather_tile(q, map, keys_transposed_, num_keys_, width_, weight_pairs_, dqueries_);
  }

  void write_queries(const AttentionArguments<Bf16>& p, const QueryTile& q, Bf16* dq) {
    transpose(dqueries_, tile_queries, width_, tile_queries, rows_, width_);
    unpack_rows(rows_, width_, q.count, p.head_size, dq, p.heads * p.head_size);
  }
  template <class Out>
  void write_keys(const AttentionSizes& p, std::int64_t begin, std::int64_t end, Out* dk, Out* dv) {
    const std::int64_t stride = p.kv_heads * p.head_size;
    unpack_rows(dkeys_ + begin * width_, width_, end - begin, p.head_size, dk, stride);
    unpack_rows(dvalues_ + begin * width_, width_, end - begin, p.head_size, dv, stride);
  }

 private:
  void take_queries(const AttentionArguments<Bf16>& p, const QueryTile& q, const Bf16* x, std::uint32_t* pairs,
                    std::uint32_t* row_pairs) {
    copy_rows(x, p.heads * p.head_size, q.count, p.head_size, packed_, padded_queries, width_);
    transpose_words(packed_, width_ / 2, tile_queries, width_ / 2, pairs, tile_queries);
    pair_rows(packed_, padded_queries, width_, row_pairs);
  }

  /// Columns that this tile does not use may hold those of the tile before.
  void clear_weights(const QueryTile& q) {
    for (std::int64_t column = q.columns; column < tile_columns; ++column) {
      for (std::int64_t row = 0; row < tile_keys; ++row) {
        store_u16(weight_rows_ + row * padded_queries + 16 * column, broadcast(0U));
      }
    }
  }

  TileRegisters registers_;
  std::int64_t width_, num_keys_;
  std::uint16_t *keys_, *values_;                     // [keys][width]
  std::uint16_t* keys_transposed_;                    // [width][keys]
  float *dkeys_, *dvalues_;                           // [keys][width]
  std::uint16_t* packed_;                             // [64][width]
  std::uint32_t *query_pairs_, *dout_pairs_;          // [width / 2][48]
  std::uint32_t *query_row_pairs_, *dout_row_pairs_;  // [32][width]
  float* dqueries_;                                   // [width][48]
  float* rows_;                                       // [48][width]
  float *scores_, *dscores_;                          // [64][48]
  std::uint16_t* weight_rows_;                        // [64][64]
  std::uint32_t* weight_pairs_;                       // [32][48]
};

}  // namespace trireme::kernels::host::TRIREME_ISA
