// The products of attention's tiles in fp32, of operands of any type.
#pragma once

#include "kernels/host/attention_tile.hpp"
#include "kernels/host/block_product.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

static_assert(strip_keys == product_rows && tile_queries % product_rows == 0);

/// scores[key][query] = sum over the head size of keys[key] * transposed_queries[.][query], where the map says so.
inline void tile_scores(const TileMap& map, const float* keys, std::int64_t width, std::int64_t head_size,
                        const float* transposed_queries, float* scores) {
  for (int strip = 0; strip < tile_strips; ++strip) {
    const std::int64_t first = map.first_column[strip];
    const std::int64_t row = strip * product_rows;
    const ProductOperands operands{keys + (map.first_key + row) * width,     width,
                                   transposed_queries + 16 * first,          tile_queries,
                                   scores + row * tile_queries + 16 * first, tile_queries};
    product<Left::rows, Begin::zero>(operands, product_rows, map.last_column[strip] - first, head_size);
  }
}

/// rows[query] += sum over the tile's keys of weights[key][query] * values[key].
inline void tile_gather(const QueryTile& q, const TileMap& map, const float* weights, const float* values,
                        std::int64_t width, float* rows) {
  for (std::int64_t i = 0; i < q.count; i += product_rows) {
    const std::int64_t begin = map.row_begin[i / 16];
    const ProductOperands operands{weights + begin * tile_queries + i,
                                   tile_queries,
                                   values + (map.first_key + begin) * width,
                                   width,
                                   rows + i * width,
                                   width};
    product<Left::columns, Begin::sum>(operands, product_rows, width / 16, map.row_end[i / 16] - begin);
  }
}

/// keys[key] += sum over the tile's queries of weights[key][query] * rows[query].
inline void tile_scatter(const TileMap& map, const float* weights, const float* rows, std::int64_t width, float* keys) {
  for (int strip = 0; strip < tile_strips; ++strip) {
    const std::int64_t first = 16 * map.first_column[strip];
    const std::int64_t row = strip * product_rows;
    const ProductOperands operands{weights + row * tile_queries + first, tile_queries, rows + first * width, width,
                                   keys + (map.first_key + row) * width, width};
    product<Left::rows, Begin::sum>(operands, product_rows, width / 16, 16 * map.last_column[strip] - first);
  }
}

/// Of the forward pass: scores of a tile of queries, and their sums of values.
class FloatForward {
 public:
  FloatForward(const AttentionSizes& p, float* scratch) : width_(rounded_up(p.head_size, 16)) {
    const std::int64_t key_floats = rounded_up(p.keys, tile_keys) * width_;
    const std::int64_t tile_floats = tile_queries * width_;
    keys_ = scratch;
    values_ = keys_ + key_floats;
    queries_ = values_ + key_floats;
    transposed_ = queries_ + tile_floats;
    sums_ = transposed_ + tile_floats;
    scores_ = sums_ + tile_floats;
  }

  template <class T>
  void take_keys(const AttentionArguments<T>& p, const T* k, const T* v) {
    const std::int64_t stride = p.kv_heads * p.head_size;
    const std::int64_t rows = rounded_up(p.keys, tile_keys);
    pack_rows(k, stride, p.keys, p.head_size, 1.0F, keys_, rows, width_);
    pack_rows(v, stride, p.keys, p.head_size, 1.0F, values_, rows, width_);
  }

  template <class T>
  void begin_tile(const AttentionArguments<T>& p, const QueryTile& q, const T* queries) {
    const std::int64_t lanes = 16 * q.columns;
    pack_rows(queries, p.heads * p.head_size, q.count, p.head_size, p.scale, queries_, lanes, width_);
    transpose(queries_, width_, lanes, width_, transposed_, tile_queries);
    for (std::int64_t i = 0; i < lanes * width_; i += 16) store(sums_ + i, zero());
  }

  /// [64 keys][48 queries], where the map says so.
  float* make_scores(const AttentionSizes& p, const QueryTile&, const TileMap& map) {
    tile_scores(map, keys_, width_, p.head_size, transposed_, scores_);
    return scores_;
  }

  /// The sums of each query *= factors[48].
  void scale_sums(const QueryTile& q, const float* factors) { scale_rows(factors, q.count, width_, sums_); }

  /// The sums of each query += the values, weighted by what the scores have become.
  void add_values(const QueryTile& q, const TileMap& map) { tile_gather(q, map, scores_, values_, width_, sums_); }

  template <class T>
  void write_sums(const AttentionArguments<T>& p, const QueryTile& q, T* out) {
    unpack_rows(sums_, width_, q.count, p.head_size, out, p.heads * p.head_size);
  }

 private:
  std::int64_t width_;
  float *keys_, *values_;  // [S up to whole tiles][width]
  float* queries_;         // [48][width]
  float* transposed_;      // [width][48]
  float* sums_;            // [48][width]
  float* scores_;          // [64][48]
};

/// Of the backward pass. Weights are P Z and dS, where the scores and their gradients stood.
class FloatBackward {
 public:
  FloatBackward(const AttentionSizes& p, float* scratch) : width_(rounded_up(p.head_size, 16)) {
    const std::int64_t key_floats = rounded_up(p.keys, tile_keys) * width_;
    const std::int64_t tile_floats = tile_queries * width_;
    keys_ = scratch;
    values_ = keys_ + key_floats;
    dkeys_ = values_ + key_floats;
    dvalues_ = dkeys_ + key_floats;
    queries_ = dvalues_ + key_floats;
    dout_ = queries_ + tile_floats;
    dqueries_ = dout_ + tile_floats;
    queries_transposed_ = dqueries_ + tile_floats;
    dout_transposed_ = queries_transposed_ + tile_floats;
    scores_ = dout_transposed_ + tile_floats;
    dscores_ = scores_ + tile_keys * tile_queries;
  }

  /// Keys [begin, end), begin at the border of a tile, to which k and v point.
  template <class T>
  void take_keys(const AttentionArguments<T>& p, std::int64_t begin, std::int64_t end, const T* k, const T* v) {
    const std::int64_t stride = p.kv_heads * p.head_size;
    const std::int64_t rows = rounded_up(end - begin, tile_keys);
    pack_rows(k, stride, end - begin, p.head_size, 1.0F, keys_ + begin * width_, rows, width_);
    pack_rows(v, stride, end - begin, p.head_size, 1.0F, values_ + begin * width_, rows, width_);
    for (std::int64_t i = begin * width_; i < (begin + rows) * width_; i += 16) {
      store(dkeys_ + i, zero());
      store(dvalues_ + i, zero());
    }
  }

  template <class T>
  void begin_tile(const AttentionArguments<T>& p, const QueryTile& q, const T* queries, const T* dout) {
    const std::int64_t stride = p.heads * p.head_size;
    const std::int64_t lanes = 16 * q.columns;
    pack_rows(queries, stride, q.count, p.head_size, p.scale, queries_, lanes, width_);
    pack_rows(dout, stride, q.count, p.head_size, 1.0F, dout_, lanes, width_);
    transpose(queries_, width_, lanes, width_, queries_transposed_, tile_queries);
    transpose(dout_, width_, lanes, width_, dout_transposed_, tile_queries);
    for (std::int64_t i = 0; i < lanes * width_; i += 16) store(dqueries_ + i, zero());
  }

  void make_scores(const AttentionSizes& p, const QueryTile&, const TileMap& map) {
    tile_scores(map, keys_, width_, p.head_size, queries_transposed_, scores_);
    tile_scores(map, values_, width_, p.head_size, dout_transposed_, dscores_);
  }
  float* scores() { return scores_; }    ///< [64 keys][48 queries]
  float* dscores() { return dscores_; }  ///< likewise

  void add_to_keys(const AttentionSizes&, const QueryTile&, const TileMap& map) {
    tile_scatter(map, scores_, dout_, width_, dvalues_);
    tile_scatter(map, dscores_, queries_, width_, dkeys_);
  }
  void add_to_queries(const AttentionSizes&, const QueryTile& q, const TileMap& map) {
    tile_gather(q, map, dscores_, keys_, width_, dqueries_);
  }

  template <class T>
  void write_queries(const AttentionArguments<T>& p, const QueryTile& q, T* dq) {
    for (std::int64_t i = 0; i < q.count * width_; i += 16) {
      store(dqueries_ + i, load(dqueries_ + i) * broadcast(p.scale));
    }
    unpack_rows(dqueries_, width_, q.count, p.head_size, dq, p.heads * p.head_size);
  }
  template <class Out>
  void write_keys(const AttentionSizes& p, std::int64_t begin, std::int64_t end, Out* dk, Out* dv) {
    const std::int64_t stride = p.kv_heads * p.head_size;
    unpack_rows(dkeys_ + begin * width_, width_, end - begin, p.head_size, dk, stride);
    unpack_rows(dvalues_ + begin * width_, width_, end - begin, p.head_size, dv, stride);
  }

 private:
  std::int64_t width_;
  float *keys_, *values_, *dkeys_, *dvalues_;     // [S up to whole tiles][width]
  float *queries_, *dout_, *dqueries_;            // [48][width]
  float *queries_transposed_, *dout_transposed_;  // [width][48]
  float *scores_, *dscores_;                      // [64][48]
};

}  // namespace trireme::kernels::host::TRIREME_ISA
