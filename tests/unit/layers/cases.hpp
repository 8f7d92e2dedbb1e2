// Layers run forward and backward over made-up micro-batches; what comes out, by name.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trireme/kernels/rotary.hpp"
#include "trireme/layers/block.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/layers/head.hpp"

#include "unit/layers/rig.hpp"

namespace trireme::test {

using Arrays = std::map<std::string, std::vector<float>>;

/// Half of the distance from 1 to the next number.
inline double rounding_of(Dtype dtype) {
  return dtype == Dtype::f32 ? 0x1p-24 : dtype == Dtype::bf16 ? 0x1p-8 : 0x1p-11;
}

/// Of this rank: arrays over its own rows, arrays alike on all ranks, and the gradients of its entries.
struct Outcome {
  Arrays own_rows;
  Arrays alike;
  Arrays gradients;
};

/// The rows of a micro-batch. In the first sequence a document ends after two tokens.
struct Batch {
  Batch(std::int64_t batch, std::int64_t tokens, std::int64_t vocab, bool training)
      : ids(integers("ids", batch * tokens, vocab)), targets(integers("targets", batch * tokens, vocab)) {
    for (std::int64_t n = 0; n < batch * tokens; ++n) {
      positions.push_back(static_cast<std::int32_t>(n % tokens));
      starts.push_back(n >= 2 && n < tokens ? 2 : 0);
      coefficients.push_back(n % 5 == 3 ? 0.0F : 0.01F * static_cast<float>(n % 7 + 1));
    }
    sequences = {.batch = batch,
                 .tokens = tokens,
                 .ids = view(ids, {batch * tokens}),
                 .positions = view(positions, {batch * tokens}),
                 .starts = view(starts, {batch, tokens}),
                 .training = training,
                 .seed = 5,
                 .step = 3,
                 .first_sequence = 2};
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  std::vector<std::int32_t> ids, targets, positions, starts;
  std::vector<float> coefficients;
  layers::Sequences sequences;
};

struct BlockCase {
  std::int64_t batch = 3, tokens = 7;
  std::int64_t width = 20, heads = 8, kv_heads = 8, head_width = 6, mlp_width = 24;
  layers::NormKind norm = layers::NormKind::layer;
  layers::MlpKind mlp = layers::MlpKind::gelu_tanh;
  bool rotary = false;
  bool qkv_bias = true, bias = true;
  double dropout = 0.2;
  bool again = false;  ///< the attention's core is made again
  int first_micro_batch = 0;
  int micro_batches = 1;
  int num_threads = 1;
  Dtype compute = Dtype::f32;

  [[nodiscard]] std::int64_t rows() const { return batch * tokens; }
  [[nodiscard]] layers::BlockOptions options() const {
    const auto norm_options = [&](const char* name) {
      return layers::NormOptions{.name = name, .kind = norm, .width = width};
    };
    return {.attention = {.name = "attention",
                          .width = width,
                          .heads = heads,
                          .kv_heads = kv_heads,
                          .head_width = head_width,
                          .qkv_bias = qkv_bias,
                          .output_bias = bias,
                          .dropout = dropout,
                          .dropout_site = 1},
            .mlp = {.name = "mlp", .kind = mlp, .width = width, .mlp_width = mlp_width, .bias = bias},
            .norm_1 = norm_options("norm_1"),
            .norm_2 = norm_options("norm_2"),
            .dropout = dropout,
            .attention_dropout_site = 2,
            .mlp_dropout_site = 3};
  }
};

/// A block on the ranks of `communicator` in `slices` slices.
class BlockRun {
 public:
  BlockRun(comm::Communicator& communicator, std::int64_t slices, const BlockCase& of)
      : case_(of),
        rig_(communicator,
             {.slices = slices,
              .kv_heads = of.kv_heads,
              .head_width = of.head_width,
              .width = of.width,
              .compute = of.compute},
             of.rows(), of.num_threads),
        block_(rig_.parameters(), of.options(), rig_.axis()) {
    rig_.lay_out();
    rig_.allocate_scratch(block_.scratch_bytes(rig_.context(), of.batch, of.tokens));
    if (of.again) shared_core_ = block_.allocate_core(rig_.arena(), rig_.axis(), of.batch, of.tokens);
    activations_ = block_.allocate(rig_.arena(), rig_.axis(), of.batch, of.tokens, of.again ? &*shared_core_ : nullptr);
    gradients_ = block_.allocate_gradients(rig_.arena(), rig_.axis(), of.batch, of.tokens, of.again);
    if (of.rotary) {
      table_ = tensor::allocate(rig_.arena(), {of.tokens, of.head_width}, Dtype::f32, device::MemoryClass::buffers);
      kernels::rotary_table(10000, table_);
    }
  }

  [[nodiscard]] Rig& rig() { return rig_; }

  Outcome run() {
    Outcome outcome;
    for (int index = 0; index < case_.micro_batches; ++index) one(case_.first_micro_batch + index, outcome);
    outcome.gradients = rig_.gradients();
    return outcome;
  }

 private:
  void one(int index, Outcome& outcome) {
    const std::string number = std::to_string(index);
    const std::int64_t rows = case_.rows();
    const layers::Context context = rig_.context();
    Batch batch(case_.batch, case_.tokens, 11, true);
    batch.sequences.first_sequence = index * case_.batch;
    const tensor::Shape shape{rig_.axis().own_rows(rows).count, case_.width};
    const auto own_rows = [&](const std::string& name) {
      return Typed(rig_.device(), rig_.own(normals(name + number, rows * case_.width), rows), shape, case_.compute);
    };
    Typed x = own_rows("x");
    Typed gradient = own_rows("dy");
    Typed branch = own_rows("branch");
    block_.forward(context, batch.sequences, table_, x.tensor(), activations_, branch.tensor(), nullptr);
    if (case_.again) std::memset(shared_core_->output.data, 0x7b, shared_core_->output.bytes());  // large numbers
    block_.backward_input(context, batch.sequences, table_, activations_, gradients_, gradient.tensor());
    block_.backward_weight(context, rows, activations_, gradients_,
                           index == case_.first_micro_batch ? kernels::Write::set : kernels::Write::add);
    outcome.own_rows["output" + number] = floats(rig_.device(), activations_.output.rows(0, shape[0]));
    outcome.own_rows["dx" + number] = gradient.floats();
  }

  BlockCase case_;
  Rig rig_;
  layers::Block block_;
  std::optional<layers::AttentionCore> shared_core_;
  layers::BlockActivations activations_;
  layers::BlockGradients gradients_;
  tensor::Tensor table_;
};

struct EndsCase {
  std::int64_t batch = 3, tokens = 7, vocab = 37, width = 20;
  layers::NormKind norm = layers::NormKind::layer;
  bool tied = true;
  bool far_table = false;  ///< without the embedding
  bool learned_positions = true;
  double dropout = 0.2;
  int first_micro_batch = 0;
  int micro_batches = 1;
  Dtype compute = Dtype::f32;

  [[nodiscard]] std::int64_t rows() const { return batch * tokens; }
};

/// Embedding and head without anything between them.
class EndsRun {
 public:
  EndsRun(comm::Communicator& communicator, std::int64_t slices, const EndsCase& of)
      : case_(of),
        rig_(communicator,
             {.slices = slices, .kv_heads = slices, .head_width = 1, .width = of.width, .compute = of.compute},
             of.rows()) {
    if (!of.far_table) {
      embedding_.emplace(rig_.parameters(),
                         layers::EmbeddingOptions{.vocab = of.vocab,
                                                  .context = of.tokens,
                                                  .width = of.width,
                                                  .learned_positions = of.learned_positions,
                                                  .dropout = of.dropout},
                         rig_.axis());
    }
    head_.emplace(rig_.parameters(),
                  layers::HeadOptions{.norm = {.name = "final_norm", .kind = of.norm, .width = of.width},
                                      .vocab = of.vocab,
                                      .width = of.width,
                                      .tied = of.tied,
                                      .far_table = of.far_table,
                                      .weight_bucket = 1,
                                      .far_table_bucket = 2},
                  rig_.axis());
    rig_.lay_out();
    rig_.allocate_scratch(head_->scratch_bytes(of.rows()));
    activations_ = head_->allocate(rig_.arena(), rig_.axis(), of.rows());
  }

  [[nodiscard]] Rig& rig() { return rig_; }
  [[nodiscard]] layers::Head& head() { return *head_; }
  [[nodiscard]] const layers::Head::Activations& activations() { return activations_; }

  Outcome run() {
    Outcome outcome;
    for (int index = 0; index < case_.micro_batches; ++index) one(case_.first_micro_batch + index, outcome);
    outcome.gradients = rig_.gradients();
    return outcome;
  }

 private:
  void one(int index, Outcome& outcome) {
    const std::string number = std::to_string(index);
    const std::int64_t rows = case_.rows();
    const auto write = index == case_.first_micro_batch ? kernels::Write::set : kernels::Write::add;
    const layers::Context context = rig_.context();
    Batch batch(case_.batch, case_.tokens, case_.vocab, true);
    batch.sequences.first_sequence = index * case_.batch;
    const tensor::Shape shape{rig_.axis().own_rows(rows).count, case_.width};
    const std::vector<float> given = rig_.own(normals("x" + number, rows * case_.width), rows);
    Typed x(rig_.device(), given, shape, case_.compute);
    if (embedding_) embedding_->forward(context, batch.sequences, x.tensor());
    outcome.own_rows["embedded" + number] = x.floats();

    Typed dx(rig_.device(), std::vector<float>(given.size()), shape, case_.compute);
    std::vector<float>& log_probability = outcome.alike["log_probability" + number];
    log_probability.resize(static_cast<std::size_t>(rows));
    const tensor::Tensor targets = view(batch.targets, {rows});
    head_->forward_backward(context, rows, x.tensor(), targets, view(batch.coefficients, {rows}), activations_,
                            view(log_probability, {rows}), dx.tensor(), write, write);
    outcome.own_rows["dx" + number] = dx.floats();
    if (embedding_) embedding_->backward(context, batch.sequences, dx.tensor(), write, write);

    std::vector<float>& evaluated = outcome.alike["evaluated" + number];
    evaluated.resize(static_cast<std::size_t>(rows));
    head_->evaluate(context, rows, x.tensor(), targets, activations_, view(evaluated, {rows}));
    head_->logits(context, rows, x.tensor(), activations_, outcome.alike["logits" + number]);
  }

  EndsCase case_;
  Rig rig_;
  std::optional<layers::Embedding> embedding_;
  std::optional<layers::Head> head_;
  layers::Head::Activations activations_;
};

}  // namespace trireme::test
