#include "plan/work.hpp"

#include <algorithm>
#include <bit>

#include "trireme/layers/head.hpp"

namespace trireme::plan {
namespace {

constexpr double fp32_bytes = 4;

/// Sizes as the sums below want them.
struct Sizes {
  Sizes(const model::ModelOptions& m, const WorkShape& shape)
      : ranks(shape.tensor_ranks),
        bytes(static_cast<double>(size_of(shape.compute))),
        rows(static_cast<double>(shape.rows)),
        own(rows * static_cast<double>(m.width) / ranks),
        hidden(rows * static_cast<double>(m.mlp_width) / ranks),
        logits(rows * static_cast<double>(m.vocab) / ranks),
        table(static_cast<double>(m.vocab) * static_cast<double>(m.width) / ranks),
        gated(m.activation == model::Activation::swiglu) {}

  /// Gathers of all rows, and reductions to the own ones.
  [[nodiscard]] Sent exchanges(int gathers, int reductions) const {
    const double elements = share_of_exchange(ranks) * own * ranks;
    return {.messages = messages_of_exchange(ranks) * (gathers + reductions),
            .bytes = elements * (gathers * bytes + reductions * fp32_bytes)};
  }

  int ranks;
  double bytes;  // of an activation
  double rows;
  double own;     // elements of the own rows, N D / t
  double hidden;  // N F / t
  double logits;  // N V / t
  double table;   // V D / t
  bool gated;
};

PassWork block_work(const model::ModelOptions& m, const Sizes& s) {
  const model::PassFlop flop = model::block_flop_per_token(m);
  const double share = s.rows / s.ranks;
  const double matrices = flop.backward_weight / 2 / s.ranks;
  return {.forward = {.flop = flop.forward * share,
                      .memory_bytes = s.bytes * (10 * s.own + (s.gated ? 3 : 2) * s.hidden),
                      .tensor = s.exchanges(2, 2)},
          .backward_input = {.flop = flop.backward_input * share,
                             .memory_bytes = s.bytes * (14 * s.own + (s.gated ? 5 : 3) * s.hidden),
                             .tensor = s.exchanges(2, 2)},
          .backward_weight = {.flop = flop.backward_weight * share,
                              .memory_bytes = fp32_bytes * 2 * matrices,
                              .tensor = s.exchanges(4, 0)}};
}

/// The attention alone, which selective recompute makes again.
double core_flop(const model::ModelOptions& m, const Sizes& s) {
  const model::PassFlop flop = model::block_flop_per_token(m);
  return (flop.forward - flop.backward_weight) * s.rows / s.ranks;
}

void recompute_block(const model::ModelOptions& m, const Sizes& s, model::Recompute mode, PassWork& work) {
  if (mode == model::Recompute::selective) work.backward_input.flop += core_flop(m, s);
  if (mode != model::Recompute::full) return;
  work.backward_input += work.forward;
  work.backward_input += work.backward_weight;
  work.backward_weight = {};
}

/// All in the input pass; logits are read twice and their gradient is written, the gradient of the table is added to
/// with every chunk of rows.
Work head_work(const model::ModelOptions& m, const Sizes& s) {
  const double chunks = std::max(1.0, s.rows / static_cast<double>(layers::Head::chunk_rows));
  return {.flop = model::chunk_flop_per_token(m, {.head = true}).total() * s.rows / s.ranks,
          .memory_bytes = s.bytes * (6 * s.own + s.logits) + fp32_bytes * (2 * s.logits + 2 * s.table * chunks),
          .tensor = s.exchanges(1, 1)};
}

void add(PassWork& sum, const PassWork& part) {
  sum.forward += part.forward;
  sum.backward_input += part.backward_input;
  sum.backward_weight += part.backward_weight;
}

}  // namespace

Sent& Sent::operator+=(const Sent& other) {
  messages += other.messages;
  bytes += other.bytes;
  return *this;
}

Work& Work::operator+=(const Work& other) {
  flop += other.flop;
  memory_bytes += other.memory_bytes;
  tensor += other.tensor;
  return *this;
}

double messages_of_exchange(int ranks) {
  const auto count = static_cast<unsigned>(ranks);
  return std::has_single_bit(count) ? std::bit_width(count) - 1 : ranks - 1;
}

double share_of_exchange(int ranks) {
  return static_cast<double>(ranks - 1) / ranks;
}

PassWork chunk_work(const model::ModelOptions& options, const model::ChunkRange& chunk,
                    const model::RecomputeOptions& recompute, const WorkShape& shape) {
  const Sizes sizes(options, shape);
  const PassWork plain = block_work(options, sizes);
  PassWork again = plain;
  recompute_block(options, sizes, recompute.mode, again);
  PassWork sum;
  for (std::int64_t block = chunk.first_block; block < chunk.end_block(); ++block) {
    add(sum, recompute.applies(block) ? again : plain);
  }
  if (chunk.embedding) {
    // All ranks read and write all rows: weights and outputs; output gradients, and gradients that are added to.
    const double all = sizes.own * sizes.ranks;
    sum.forward += {.memory_bytes = sizes.bytes * 3 * all, .tensor = sizes.exchanges(0, 1)};
    sum.backward_input += {.memory_bytes = (sizes.bytes + 2 * fp32_bytes) * all, .tensor = sizes.exchanges(1, 0)};
  }
  if (chunk.head) sum.backward_input += head_work(options, sizes);
  return sum;
}

}  // namespace trireme::plan
