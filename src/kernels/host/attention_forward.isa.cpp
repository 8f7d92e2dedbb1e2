// Forward pass of attention on tiles; Dao et al. 2022, algorithm 1.
#include "kernels/host/attention_products.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

namespace {

// Finite, so that a row none of whose keys has come yet has a difference to subtract.
constexpr float lowest = -0x1.fffffep127F;

/// The running softmax of a tile's rows.
struct RunningSoftmax {
  F32x16 maximum[tile_columns], sum[tile_columns];
  alignas(64) float rescale[tile_queries];
  bool rescales;
};

/// Masks a column of scores and returns the largest of them and of the maximum so far.
F32x16 mask_and_maximum(const QueryTile& q, const TileMap& map, std::int64_t column, F32x16 maximum, float* scores) {
  F32x16 chains[4] = {maximum, maximum, maximum, maximum};
  const F32x16 hidden = broadcast(-__builtin_inff());
  for (std::int64_t row = map.row_begin[column]; row < map.row_end[column]; row += 4) {
    for (int t = 0; t < 4; ++t) {
      float* place = scores + (row + t) * tile_queries;
      F32x16 score = load(place);
      if (map.masked) {
        score = select(visible(q, column, map.first_key + row + t), score, hidden);
        store(place, score);
      }
      chains[t] = max(chains[t], score);
    }
  }
  return max(max(chains[0], chains[1]), max(chains[2], chains[3]));
}

/// Turns a column of scores into exp(score - maximum), dropped out, and updates the running softmax.
void softmax_column(const AttentionSizes& p, const QueryTile& q, const TileMap& map, std::int64_t sequence,
                    std::int64_t head, std::int64_t column, RunningSoftmax& softmax, float* scores) {
  scores += 16 * column;
  const F32x16 maximum = mask_and_maximum(q, map, column, softmax.maximum[column], scores);
  const F32x16 rescale = exp_of_nonpositive(softmax.maximum[column] - maximum);
  softmax.maximum[column] = maximum;
  store(softmax.rescale + 16 * column, rescale);
  softmax.rescales = softmax.rescales || any(less(rescale, broadcast(1.0F)));
  F32x16 sum = softmax.sum[column] * rescale;
  for (std::int64_t row = map.row_begin[column]; row < map.row_end[column]; ++row) {
    const F32x16 power = exp_of_nonpositive(load(scores + row * tile_queries) - maximum);
    sum = sum + power;
    store(scores + row * tile_queries, power);
  }
  softmax.sum[column] = sum;
  if (!p.drops) return;
  DropoutColumn dropout(p, q, sequence, head, column, map.first_key + map.row_begin[column]);
  for (std::int64_t row = map.row_begin[column]; row < map.row_end[column]; row += 4) {
    F32x16 factors[4];
    dropout.next(factors);
    for (int t = 0; t < 4; ++t) {
      float* place = scores + (row + t) * tile_queries;
      store(place, load(place) * factors[t]);
    }
  }
}

/// Divides the sums by those of the softmax and writes them and the log-sum-exp.
template <class T>
void write_rows(const AttentionArguments<T>& p, const QueryTile& q, std::int64_t sequence, std::int64_t head,
                const RunningSoftmax& softmax, ForwardProducts& products) {
  alignas(64) float inverse[tile_queries], log_sum_exp[tile_queries];
  for (std::int64_t column = 0; column < q.columns; ++column) {
    store(inverse + 16 * column, broadcast(1.0F) / softmax.sum[column]);
    store(log_sum_exp + 16 * column, softmax.maximum[column] + log(softmax.sum[column]));
  }
  products.scale_sums(q, inverse);
  for (std::int64_t i = 0; i < q.count; ++i) {
    p.log_sum_exp[(sequence * p.heads + head) * p.queries + q.first + i] = log_sum_exp[i];
  }
  products.write_sums(p, q, p.out + ((sequence * p.queries + q.first) * p.heads + head) * p.head_size);
}

template <class T>
void forward_tile(const AttentionArguments<T>& p, std::int64_t sequence, std::int64_t head, std::int64_t tile,
                  ForwardProducts& products) {
  const QueryTile q = query_tile(p, sequence, tile);
  products.begin_tile(p, q, p.q + ((sequence * p.queries + q.first) * p.heads + head) * p.head_size);
  RunningSoftmax softmax;
  for (int column = 0; column < tile_columns; ++column) {
    softmax.maximum[column] = broadcast(lowest);
    softmax.sum[column] = zero();
  }
  for (std::int64_t key = q.all_begin / tile_keys * tile_keys; key < q.all_end; key += tile_keys) {
    const TileMap map = tile_map(q, key);
    float* const scores = products.make_scores(p, q, map);
    softmax.rescales = false;
    for (std::int64_t column = 0; column < q.columns; ++column) {
      softmax_column(p, q, map, sequence, head, column, softmax, scores);
    }
    if (softmax.rescales) products.scale_sums(q, softmax.rescale);
    products.add_values(q, map);
  }
  write_rows(p, q, sequence, head, softmax, products);
}

}  // namespace

template <class T>
void attention_forward_group(const AttentionArguments<T>& p, std::int64_t sequence, std::int64_t kv_head,
                             std::int64_t first_tile, std::int64_t last_tile, float* scratch) {
  ForwardProducts products(p, scratch);
  const std::int64_t offset = (sequence * p.keys * p.kv_heads + kv_head) * p.head_size;
  products.take_keys(p, p.k + offset, p.v + offset);
  const std::int64_t group = p.heads / p.kv_heads;
  for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    for (std::int64_t tile = first_tile; tile < last_tile; ++tile) forward_tile(p, sequence, head, tile, products);
  }
}

template void attention_forward_group(const AttentionArguments<Bf16>&, std::int64_t, std::int64_t, std::int64_t,
                                      std::int64_t, float*);
#if !defined(TRIREME_ISA_IS_AMX)
template void attention_forward_group(const AttentionArguments<float>&, std::int64_t, std::int64_t, std::int64_t,
                                      std::int64_t, float*);
template void attention_forward_group(const AttentionArguments<Fp16>&, std::int64_t, std::int64_t, std::int64_t,
                                      std::int64_t, float*);
#endif

}  // namespace trireme::kernels::host::TRIREME_ISA
