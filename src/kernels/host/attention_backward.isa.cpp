// Backward pass of attention on tiles; Dao et al. 2022, algorithm 4. With P the softmax and Z the dropout factors:
//   dV = (P Z)^T dout,  dS = P (Z (dout V^T) - rowsum(dout out)),  dQ = scale dS K,  dK = scale dS^T Q.
#include "kernels/host/attention_tile.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

namespace {

/// Where a tile's intermediate results lie in the scratch.
struct BackwardScratch {
  std::int64_t width;
  float *keys, *values, *dkeys, *dvalues;       // [S up to whole tiles][width]
  float *queries, *dout, *dqueries;             // [48][width]
  float *queries_transposed, *dout_transposed;  // [width][48]
  float *scores, *dscores;                      // [64][48]
};

BackwardScratch lay_out(const AttentionSizes& p, float* scratch) {
  BackwardScratch s;
  s.width = rounded_up(p.head_size, 16);
  const std::int64_t key_floats = rounded_up(p.keys, tile_keys) * s.width;
  const std::int64_t tile_floats = tile_queries * s.width;
  s.keys = scratch;
  s.values = s.keys + key_floats;
  s.dkeys = s.values + key_floats;
  s.dvalues = s.dkeys + key_floats;
  s.queries = s.dvalues + key_floats;
  s.dout = s.queries + tile_floats;
  s.dqueries = s.dout + tile_floats;
  s.queries_transposed = s.dqueries + tile_floats;
  s.dout_transposed = s.queries_transposed + tile_floats;
  s.scores = s.dout_transposed + tile_floats;
  s.dscores = s.scores + tile_keys * tile_queries;
  return s;
}

struct Interval {
  std::int64_t begin, end;
};

/// What the softmax's gradient needs of each query: log-sum-exp and rowsum(dout * out).
struct RowStatistics {
  alignas(64) float log_sum_exp[tile_queries], weighted_sum[tile_queries];
};

template <class T>
RowStatistics row_statistics(const AttentionArguments<T>& p, const QueryTile& q, std::int64_t sequence,
                             std::int64_t head, const BackwardScratch& s) {
  RowStatistics rows;
  for (std::int64_t i = 0; i < tile_queries; ++i) {
    // Lanes beyond the last query get a weight of zero.
    rows.weighted_sum[i] = 0;
    rows.log_sum_exp[i] = 0x1.fffffep127F;
    if (i >= q.count) continue;
    const std::int64_t query = q.first + i;
    const T* out = p.out + ((sequence * p.queries + query) * p.heads + head) * p.head_size;
    F32x16 products = zero();
    for (std::int64_t k = 0; k < p.head_size; k += 16) {
      products = fma(load_first(out + k, smaller(16, p.head_size - k)), load(s.dout + i * s.width + k), products);
    }
    rows.weighted_sum[i] = sum(products);
    rows.log_sum_exp[i] = p.log_sum_exp[(sequence * p.heads + head) * p.queries + query];
  }
  return rows;
}

/// Turns a column of scores into P Z and of dP into dS, from row_begin to row_end.
void softmax_gradient_column(const AttentionSizes& p, const QueryTile& q, const TileMap& map, const RowStatistics& rows,
                             std::int64_t sequence, std::int64_t head, std::int64_t column, const BackwardScratch& s) {
  const F32x16 log_sum_exp = load(rows.log_sum_exp + 16 * column);
  const F32x16 weighted_sum = load(rows.weighted_sum + 16 * column);
  for (std::int64_t row = map.row_begin[column]; row < map.row_end[column]; ++row) {
    float* score = s.scores + row * tile_queries + 16 * column;
    F32x16 power = exp_of_nonpositive(load(score) - log_sum_exp);
    if (map.masked) power = select(visible(q, column, map.first_key + row), power, zero());
    store(score, power);
    if (p.drops) continue;
    float* dscore = s.dscores + row * tile_queries + 16 * column;
    store(dscore, power * (load(dscore) - weighted_sum));
  }
  if (!p.drops) return;
  DropoutColumn dropout(p, q, sequence, head, column, map.first_key + map.row_begin[column]);
  for (std::int64_t row = map.row_begin[column]; row < map.row_end[column]; row += 4) {
    F32x16 factors[4];
    dropout.next(factors);
    for (int t = 0; t < 4; ++t) {
      float* score = s.scores + (row + t) * tile_queries + 16 * column;
      float* dscore = s.dscores + (row + t) * tile_queries + 16 * column;
      const F32x16 power = load(score);
      store(dscore, power * (load(dscore) * factors[t] - weighted_sum));
      store(score, power * factors[t]);
    }
  }
}

template <class T>
void backward_tile(const AttentionArguments<T>& p, std::int64_t sequence, std::int64_t head, std::int64_t tile,
                   AttentionGradient gradient, const Interval& keys, const BackwardScratch& s) {
  const QueryTile q = query_tile(p, sequence, tile);
  const Interval seen{larger(keys.begin, q.all_begin / tile_keys * tile_keys), smaller(keys.end, q.all_end)};
  if (seen.begin >= seen.end) return;
  const std::int64_t stride = p.heads * p.head_size;
  const std::int64_t offset = (sequence * p.queries + q.first) * stride + head * p.head_size;
  const std::int64_t lanes = 16 * q.columns;
  pack_rows(p.q + offset, stride, q.count, p.head_size, p.scale, s.queries, lanes, s.width);
  pack_rows(p.dout + offset, stride, q.count, p.head_size, 1.0F, s.dout, lanes, s.width);
  transpose_tile(s.queries, s.width, q.columns, s.queries_transposed);
  transpose_tile(s.dout, s.width, q.columns, s.dout_transposed);
  const RowStatistics rows = row_statistics(p, q, sequence, head, s);
  for (std::int64_t i = 0; i < lanes * s.width; i += 16) store(s.dqueries + i, zero());
  for (std::int64_t key = seen.begin; key < seen.end; key += tile_keys) {
    const TileMap map = tile_map(q, key);
    tile_scores(map, s.keys, s.width, p.head_size, s.queries_transposed, s.scores);
    tile_scores(map, s.values, s.width, p.head_size, s.dout_transposed, s.dscores);
    for (std::int64_t column = 0; column < q.columns; ++column) {
      softmax_gradient_column(p, q, map, rows, sequence, head, column, s);
    }
    if (gradient != AttentionGradient::queries) {
      tile_scatter(map, s.scores, s.dout, s.width, s.dvalues);
      tile_scatter(map, s.dscores, s.queries, s.width, s.dkeys);
    }
    if (gradient != AttentionGradient::keys) tile_gather(q, map, s.dscores, s.keys, s.width, s.dqueries);
  }
  if (gradient == AttentionGradient::keys) return;
  for (std::int64_t i = 0; i < q.count * s.width; i += 16) {
    store(s.dqueries + i, load(s.dqueries + i) * broadcast(p.scale));
  }
  unpack_rows(s.dqueries, s.width, q.count, p.head_size, p.dq + offset, stride);
}

}  // namespace

template <class T>
void attention_backward_group(const AttentionArguments<T>& p, std::int64_t sequence, std::int64_t kv_head,
                              AttentionGradient gradient, std::int64_t first_tile, std::int64_t last_tile,
                              float* scratch) {
  const BackwardScratch s = lay_out(p, scratch);
  Interval tiles{first_tile, last_tile};
  Interval keys{0, p.keys};
  if (gradient == AttentionGradient::keys) {
    tiles = {0, rounded_up(p.queries, tile_queries) / tile_queries};
    keys = {first_tile * tile_keys, smaller(last_tile * tile_keys, p.keys)};
  }
  const std::int64_t stride = p.kv_heads * p.head_size;
  const std::int64_t offset = (sequence * p.keys + keys.begin) * stride + kv_head * p.head_size;
  const std::int64_t count = keys.end - keys.begin;
  const std::int64_t rows = rounded_up(count, tile_keys);
  const std::int64_t begin = keys.begin * s.width;
  pack_rows(p.k + offset, stride, count, p.head_size, 1.0F, s.keys + begin, rows, s.width);
  pack_rows(p.v + offset, stride, count, p.head_size, 1.0F, s.values + begin, rows, s.width);
  if (gradient != AttentionGradient::queries) {
    for (std::int64_t i = begin; i < begin + rows * s.width; i += 16) {
      store(s.dkeys + i, zero());
      store(s.dvalues + i, zero());
    }
  }
  const std::int64_t group = p.heads / p.kv_heads;
  for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      backward_tile(p, sequence, head, tile, gradient, keys, s);
    }
  }
  if (gradient == AttentionGradient::queries) return;
  if (p.dk != nullptr) {
    unpack_rows(s.dkeys + begin, s.width, count, p.head_size, p.dk + offset, stride);
    unpack_rows(s.dvalues + begin, s.width, count, p.head_size, p.dv + offset, stride);
  } else {
    unpack_rows(s.dkeys + begin, s.width, count, p.head_size, p.unrounded_dk + offset, stride);
    unpack_rows(s.dvalues + begin, s.width, count, p.head_size, p.unrounded_dv + offset, stride);
  }
}

template void attention_backward_group(const AttentionArguments<float>&, std::int64_t, std::int64_t, AttentionGradient,
                                       std::int64_t, std::int64_t, float*);
template void attention_backward_group(const AttentionArguments<Bf16>&, std::int64_t, std::int64_t, AttentionGradient,
                                       std::int64_t, std::int64_t, float*);
template void attention_backward_group(const AttentionArguments<Fp16>&, std::int64_t, std::int64_t, AttentionGradient,
                                       std::int64_t, std::int64_t, float*);

}  // namespace trireme::kernels::host::TRIREME_ISA
