// Backward pass of attention on tiles; Dao et al. 2022, algorithm 4. With P the softmax and Z the dropout factors:
//   dV = (P Z)^T dout,  dS = P (Z (dout V^T) - rowsum(dout out)),  dQ = scale dS K,  dK = scale dS^T Q.
#include "kernels/host/attention_products.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

namespace {

struct Interval {
  std::int64_t begin, end;
};

/// What the softmax's gradient needs of each query: log-sum-exp and rowsum(dout * out).
struct RowStatistics {
  alignas(64) float log_sum_exp[tile_queries], weighted_sum[tile_queries];
};

template <class T>
RowStatistics row_statistics(const AttentionArguments<T>& p, const QueryTile& q, std::int64_t sequence,
                             std::int64_t head) {
  RowStatistics rows;
  for (std::int64_t i = 0; i < tile_queries; ++i) {
    // Lanes beyond the last query get a weight of zero.
    rows.weighted_sum[i] = 0;
    rows.log_sum_exp[i] = 0x1.fffffep127F;
    if (i >= q.count) continue;
    const std::int64_t query = q.first + i;
    const std::int64_t row = ((sequence * p.queries + query) * p.heads + head) * p.head_size;
    F32x16 products = zero();
    for (std::int64_t k = 0; k < p.head_size; k += 16) {
      const std::int64_t lanes = smaller(16, p.head_size - k);
      products = fma(load_first(p.out + row + k, lanes), load_first(p.dout + row + k, lanes), products);
    }
    rows.weighted_sum[i] = sum(products);
    rows.log_sum_exp[i] = p.log_sum_exp[(sequence * p.heads + head) * p.queries + query];
  }
  return rows;
}

/// Turns a column of scores into P Z and of dP into dS, from row_begin to row_end.
void softmax_gradient_column(const AttentionSizes& p, const QueryTile& q, const TileMap& map, const RowStatistics& rows,
                             std::int64_t sequence, std::int64_t head, std::int64_t column, float* scores,
                             float* dscores) {
  const F32x16 log_sum_exp = load(rows.log_sum_exp + 16 * column);
  const F32x16 weighted_sum = load(rows.weighted_sum + 16 * column);
  for (std::int64_t row = map.row_begin[column]; row < map.row_end[column]; ++row) {
    float* score = scores + row * tile_queries + 16 * column;
    F32x16 power = exp_of_nonpositive(load(score) - log_sum_exp);
    if (map.masked) power = select(visible(q, column, map.first_key + row), power, zero());
    store(score, power);
    if (p.drops) continue;
    float* dscore = dscores + row * tile_queries + 16 * column;
    store(dscore, power * (load(dscore) - weighted_sum));
  }
  if (!p.drops) return;
  DropoutColumn dropout(p, q, sequence, head, column, map.first_key + map.row_begin[column]);
  for (std::int64_t row = map.row_begin[column]; row < map.row_end[column]; row += 4) {
    F32x16 factors[4];
    dropout.next(factors);
    for (int t = 0; t < 4; ++t) {
      float* score = scores + (row + t) * tile_queries + 16 * column;
      float* dscore = dscores + (row + t) * tile_queries + 16 * column;
      const F32x16 power = load(score);
      store(dscore, power * (load(dscore) * factors[t] - weighted_sum));
      store(score, power * factors[t]);
    }
  }
}

template <class T>
void backward_tile(const AttentionArguments<T>& p, std::int64_t sequence, std::int64_t head, std::int64_t tile,
                   AttentionGradient gradient, const Interval& keys, BackwardProducts& products) {
  const QueryTile q = query_tile(p, sequence, tile);
  const Interval seen{larger(keys.begin, q.all_begin / tile_keys * tile_keys), smaller(keys.end, q.all_end)};
  if (seen.begin >= seen.end) return;
  const std::int64_t offset = ((sequence * p.queries + q.first) * p.heads + head) * p.head_size;
  products.begin_tile(p, q, p.q + offset, p.dout + offset);
  const RowStatistics rows = row_statistics(p, q, sequence, head);
  for (std::int64_t key = seen.begin; key < seen.end; key += tile_keys) {
    const TileMap map = tile_map(q, key);
    products.make_scores(p, q, map);
    for (std::int64_t column = 0; column < q.columns; ++column) {
      softmax_gradient_column(p, q, map, rows, sequence, head, column, products.scores(), products.dscores());
    }
    if (gradient != AttentionGradient::queries) products.add_to_keys(p, q, map);
    if (gradient != AttentionGradient::keys) products.add_to_queries(p, q, map);
  }
  if (gradient != AttentionGradient::keys) products.write_queries(p, q, p.dq + offset);
}

}  // namespace

template <class T>
void attention_backward_group(const AttentionArguments<T>& p, std::int64_t sequence, std::int64_t kv_head,
                              AttentionGradient gradient, std::int64_t first_tile, std::int64_t last_tile,
                              float* scratch) {
  BackwardProducts products(p, scratch);
  Interval tiles{first_tile, last_tile};
  Interval keys{0, p.keys};
  if (gradient == AttentionGradient::keys) {
    tiles = {0, rounded_up(p.queries, tile_queries) / tile_queries};
    keys = {first_tile * tile_keys, smaller(last_tile * tile_keys, p.keys)};
  }
  const std::int64_t offset = ((sequence * p.keys + keys.begin) * p.kv_heads + kv_head) * p.head_size;
  products.take_keys(p, keys.begin, keys.end, p.k + offset, p.v + offset);
  const std::int64_t group = p.heads / p.kv_heads;
  for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      backward_tile(p, sequence, head, tile, gradient, keys, products);
    }
  }
  if (gradient == AttentionGradient::queries) return;
  if (p.dk != nullptr) {
    products.write_keys(p, keys.begin, keys.end, p.dk + offset, p.dv + offset);
  } else {
    products.write_keys(p, keys.begin, keys.end, p.unrounded_dk + offset, p.unrounded_dv + offset);
  }
}

template void attention_backward_group(const AttentionArguments<Bf16>&, std::int64_t, std::int64_t, AttentionGradient,
                                       std::int64_t, std::int64_t, float*);
#if !defined(TRIREME_ISA_IS_AMX)
template void attention_backward_group(const AttentionArguments<float>&, std::int64_t, std::int64_t, AttentionGradient,
                                       std::int64_t, std::int64_t, float*);
template void attention_backward_group(const AttentionArguments<Fp16>&, std::int64_t, std::int64_t, AttentionGradient,
                                       std::int64_t, std::int64_t, float*);
#endif

}  // namespace trireme::kernels::host::TRIREME_ISA
