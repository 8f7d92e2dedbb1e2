// This rank's part of the transformer, with its activations.
// B sequences of a micro-batch, T tokens, N = B * T rows, D width.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trireme/data/loader.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/layers/block.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/layers/head.hpp"
#include "trireme/model/loss.hpp"
#include "trireme/model/options.hpp"
#include "trireme/optim/gradient_sync.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::model {

/// Where dropout and data of a step stand.
struct StepKey {
  std::uint64_t seed = 1;
  std::uint64_t step = 0;
};

/// The layers of the model. The constructor adds the parameters (their memory comes from GradientSync, or from
/// allocate_weights() when nothing is trained); allocate_*() then takes the activations from the arena.
class Stage {
 public:
  Stage(const device::Device& device, kernels::Gemm& gemm, const ModelOptions& options);

  [[nodiscard]] tensor::ParameterStore& parameters() noexcept { return parameters_; }
  [[nodiscard]] const ModelOptions& options() const noexcept { return options_; }

  /// Weights without gradients, for evaluation and generation.
  void allocate_weights(device::Arena& arena);
  /// Draws the first weights: a function of seed, name and global index.
  void draw_weights(std::uint64_t seed);

  /// Activations of training on micro-batches of `micro_batch` sequences.
  void allocate_training(device::Arena& arena, std::int64_t micro_batch);
  /// Activations of forward passes only: one block's, shared by all.
  void allocate_evaluation(device::Arena& arena, std::int64_t micro_batch);
  /// The same for one sequence, with the keys and values of all blocks kept.
  void allocate_generation(device::Arena& arena);

  /// Through embedding and blocks.
  void forward(const data::Batch& batch, const StepKey& key);
  /// Head, loss and the way back; forward() of the same batch came just before. The gradients go to `gradients`, bucket
  /// by bucket.
  void backward(const data::Batch& batch, const StepKey& key, CrossEntropyLoss& loss, optim::GradientSync& gradients);
  /// Adds the batch to the loss; no dropout, no gradient, no trace in later training.
  void evaluate(const data::Batch& batch, CrossEntropyLoss& loss);

  /// Appends the tokens to the sequence being generated; returns the logits [vocab] of the token that follows.
  /// At most context tokens fit in all; clear_sequence() begins anew.
  [[nodiscard]] std::span<const float> continue_sequence(std::span<const std::int32_t> tokens);
  void clear_sequence();
  [[nodiscard]] std::int64_t sequence_length() const noexcept { return sequence_length_; }

 private:
  void allocate_common(device::Arena& arena, std::int64_t batch, std::int64_t tokens);
  void forward_rows(const layers::Sequences& sequences, bool cached);
  [[nodiscard]] layers::BlockActivations& activations(std::size_t block);
  [[nodiscard]] tensor::Tensor last_output(std::int64_t rows);
  [[nodiscard]] layers::Context context() const { return {device_, gemm_, scratch_}; }

  const device::Device& device_;
  kernels::Gemm& gemm_;
  ModelOptions options_;
  tensor::ParameterStore parameters_;
  std::optional<layers::Embedding> embedding_;
  std::vector<layers::Block> blocks_;
  std::optional<layers::Head> head_;

  tensor::Tensor scratch_;
  tensor::Tensor rotary_table_;
  tensor::Tensor embedded_;      ///< [N, D]
  tensor::Tensor branch_;        ///< [N, D]
  tensor::Tensor gradient_;      ///< [N, D]
  tensor::Tensor coefficients_;  ///< [N]
  tensor::Tensor log_probability_;
  std::vector<layers::BlockActivations> activations_;  ///< one a block, or one for all
  layers::BlockGradients block_gradients_;
  layers::Head::Activations head_activations_;
  std::vector<layers::KeyValueCache> caches_;
  std::int64_t sequence_length_ = 0;
};

/// Buckets of the model, in the same order on every rank: the token table; what stands at both ends (positions, final
/// norm); one a block; the head's table (or the head's gradient of a tied one).
struct BucketNumbers {
  static constexpr int token = 0;
  static constexpr int ends = 1;
  [[nodiscard]] static int block(std::int64_t index) { return static_cast<int>(index) + 2; }
  [[nodiscard]] static int head(std::int64_t layers) { return static_cast<int>(layers) + 2; }
};

}  // namespace trireme::model
