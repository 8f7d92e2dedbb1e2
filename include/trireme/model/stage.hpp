// This rank's part of the transformer, with its activations.
// B sequences of a micro-batch, T tokens, N = B * T rows, n of them this rank's along the tensor axis, D width.
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
#include "trireme/layers/tensor_axis.hpp"
#include "trireme/model/loss.hpp"
#include "trireme/model/options.hpp"
#include "trireme/model/partition.hpp"
#include "trireme/model/pass_fingerprints.hpp"
#include "trireme/optim/gradient_sync.hpp"
#include "trireme/optim/weights.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::model {

/// What a backward pass makes again instead of finding it.
enum class Recompute : std::uint8_t {
  none,
  selective,  ///< the attention's core
  full        ///< everything of the block but its input
};

/// The deck's `recompute` section.
struct RecomputeOptions {
  Recompute mode = Recompute::none;
  std::vector<std::int64_t> layers;  ///< numbers of the layers it applies to; empty: all
  [[nodiscard]] bool applies(std::int64_t layer) const;
  bool operator==(const RecomputeOptions&) const = default;
};

/// Where dropout and data of a step stand.
struct StepKey {
  std::uint64_t seed = 1;
  std::uint64_t step = 0;
};

/// What the passes of a training step share.
struct TrainingStep {
  StepKey key;
  CrossEntropyLoss& loss;
  optim::Weights& weights;
  optim::GradientSync& gradients;
  PassFingerprints* fingerprints = nullptr;  ///< of a run that is traced
};

/// Memory that a schedule needs of a stage; its chunks share it.
struct StageSlots {
  int activations = 1;  ///< passes of a micro-batch through a chunk whose activations are alive
  int gradients = 0;    ///< of those between input and weight pass; 0: every backward pass is fused
};

/// The chunks of this rank: contiguous blocks, the first of all with the embedding, the last with the head. The
/// constructor adds the parameters (their memory comes from optim::Weights and optim::GradientSync, or from
/// allocate_weights() when nothing is trained); allocate_*() then takes the activations from the arena.
///
/// A training pass of a micro-batch works in an activation slot of its chunk: forward() reads input() (the embedding
/// fills it in the first chunk) and leaves output(); backward() or backward_input() takes the gradient of the output
/// from gradient() (the head makes it in the last chunk) and leaves that of the input there.
class Stage {
 public:
  Stage(const device::Device& device, kernels::Gemm& gemm, layers::TensorAxis& axis, const ModelOptions& options,
        const std::vector<ChunkRange>& chunks, const RecomputeOptions& recompute = {});

  [[nodiscard]] tensor::ParameterStore& parameters() noexcept { return parameters_; }
  [[nodiscard]] const ModelOptions& options() const noexcept { return options_; }
  [[nodiscard]] int num_chunks() const noexcept { return static_cast<int>(chunks_.size()); }
  /// Buckets of the blocks, which are used in turn.
  [[nodiscard]] std::vector<int> block_buckets() const;
  [[nodiscard]] bool has_head() const { return head_.has_value(); }

  /// Weights without gradients, for evaluation and generation.
  void allocate_weights(device::Arena& arena);
  /// Draws the first weights: a function of seed, name and global index.
  void draw_weights(std::uint64_t seed);

  /// Activations of training on micro-batches of `micro_batch` sequences.
  void allocate_training(device::Arena& arena, std::int64_t micro_batch, const StageSlots& slots);
  /// Activations of forward passes only: one block's, shared by all.
  void allocate_evaluation(device::Arena& arena, std::int64_t micro_batch);
  /// The same for one sequence, with the keys and values of all blocks kept.
  void allocate_generation(device::Arena& arena);

  /// [n, D] of a batch of `rows` rows: where the output of the chunk before arrives.
  [[nodiscard]] tensor::Tensor input(int chunk, int slot, std::int64_t rows) const;
  /// [n, D]: what forward() makes.
  [[nodiscard]] tensor::Tensor output(int chunk, int slot, std::int64_t rows) const;
  /// [n, D]: see above.
  [[nodiscard]] tensor::Tensor gradient(int chunk, int slot, std::int64_t rows) const;

  void forward(int chunk, int slot, const data::Batch& batch, const TrainingStep& step);
  /// Input and weight pass, block by block. Gradients are complete bucket by bucket.
  void backward(int chunk, int slot, const data::Batch& batch, const TrainingStep& step);
  /// Head and loss, gradients of activations, embedding; of blocks that are recomputed in full the weight pass too.
  void backward_input(int chunk, int slot, int gradient_slot, const data::Batch& batch, const TrainingStep& step);
  /// The weight passes that are left; backward_input() of the same micro-batch came before.
  void backward_weight(int chunk, int slot, int gradient_slot, const data::Batch& batch, const TrainingStep& step);

  /// Forward without dropout, gradient, or trace in later training: input() to output() of slot 0; the last chunk adds
  /// the batch to the loss. weights: nullptr when allocate_weights() was called.
  void evaluate(int chunk, const data::Batch& batch, CrossEntropyLoss& loss, optim::Weights* weights);

  /// One chunk's part of appending tokens to the sequence being generated: as evaluate(), with the keys and values
  /// kept. The last chunk returns the logits [vocab] of the token that follows, the others nothing. At most context
  /// tokens fit in all; clear_sequence() begins anew.
  [[nodiscard]] std::span<const float> continue_sequence(int chunk, std::span<const std::int32_t> tokens);
  void clear_sequence();
  [[nodiscard]] std::int64_t sequence_length() const noexcept { return sequence_length_; }

 private:
  /// A micro-batch's activations in one chunk. Blocks that are made again have only an output.
  struct Slot {
    tensor::Tensor input;  ///< [n, D]
    std::vector<layers::BlockActivations> blocks;
    tensor::Tensor gradient;  ///< [n, D]
  };
  struct Chunk {
    ChunkRange range;
    std::vector<layers::Block> blocks;
    std::vector<Slot> slots;
    std::vector<std::vector<layers::BlockGradients>> gradients;  ///< [gradient slot][block], empty ones for full
    std::vector<layers::KeyValueCache> caches;
  };
  enum class Passes : std::uint8_t { fused, input };

  [[nodiscard]] Recompute recompute_of(std::int64_t block) const;
  void add_chunk(const ChunkRange& range);
  void add_following_gradient();
  [[nodiscard]] tensor::Tensor allocate_rows(device::Arena& arena, std::int64_t rows) const;
  void allocate_common(device::Arena& arena, std::int64_t batch, std::int64_t tokens);
  [[nodiscard]] layers::BlockActivations allocate_block(device::Arena& arena, const layers::Block& block,
                                                        Recompute recompute, std::int64_t batch, std::int64_t tokens);
  [[nodiscard]] Recompute least_recompute(std::size_t index) const;
  [[nodiscard]] Slot allocate_slot(device::Arena& arena, const Chunk& longest, std::int64_t batch);
  [[nodiscard]] std::vector<layers::BlockGradients> allocate_gradient_slot(device::Arena& arena, const Chunk& longest,
                                                                           std::int64_t batch);
  [[nodiscard]] Slot allocate_forward_slot(device::Arena& arena, std::size_t blocks, std::int64_t batch);

  [[nodiscard]] layers::BlockActivations& working(Slot& slot, std::size_t block);
  [[nodiscard]] tensor::Tensor block_input(const Chunk& chunk, const Slot& slot, std::size_t block,
                                           std::int64_t own_rows) const;
  void run_forward(Chunk& chunk, Slot& slot, const layers::Sequences& sequences, optim::Weights* weights, bool cached);
  void add_outputs(const Chunk& chunk, const Slot& slot, const data::Batch& batch,
                   PassFingerprints& fingerprints) const;
  void run_head(const data::Batch& batch, const layers::Sequences& sequences, const tensor::Tensor& x,
                const tensor::Tensor& gradient, const TrainingStep& step);
  void run_backward(Chunk& chunk, Slot& slot, int gradient_slot, Passes passes, const data::Batch& batch,
                    const TrainingStep& step);
  void write_weights(const layers::Block& block, std::int64_t rows, const layers::BlockActivations& activations,
                     const layers::BlockGradients& gradients, optim::GradientSync& sync) const;
  [[nodiscard]] layers::Context context() const { return {device_, gemm_, axis_, scratch_}; }
  [[nodiscard]] int table_bucket() const;

  const device::Device& device_;
  kernels::Gemm& gemm_;
  layers::TensorAxis& axis_;
  ModelOptions options_;
  RecomputeOptions recompute_;
  tensor::ParameterStore parameters_;
  std::optional<layers::Embedding> embedding_;
  std::vector<Chunk> chunks_;
  std::optional<layers::Head> head_;

  tensor::Tensor scratch_;
  tensor::Tensor rotary_table_;
  tensor::Tensor branch_;        ///< [n, D]
  tensor::Tensor coefficients_;  ///< [N]
  tensor::Tensor log_probability_;
  layers::AttentionCore shared_core_;       ///< of selective recompute, in forward passes
  layers::BlockActivations made_again_;     ///< of full recompute, and of forward passes only
  layers::BlockGradients block_gradients_;  ///< of fused passes
  layers::Head::Activations head_activations_;
  std::vector<float> logits_;
  std::int64_t sequence_length_ = 0;
};

/// Buckets of the model, numbered alike on every stage; a stage that lacks one has it empty.
struct BucketNumbers {
  static constexpr int token = 0;
  static constexpr int positions = 1;
  [[nodiscard]] static int block(std::int64_t index) { return static_cast<int>(index) + 2; }
  [[nodiscard]] static int final_norm(std::int64_t layers) { return block(layers); }
  /// The head's table, or the second gradient of a tied one.
  [[nodiscard]] static int head(std::int64_t layers) { return block(layers) + 1; }
  /// The tied table's copy on a last stage that is not the first.
  [[nodiscard]] static int far_table(std::int64_t layers) { return block(layers) + 2; }
};

}  // namespace trireme::model
