// AdamW over the pieces that this rank owns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trireme/optim/gradient_sync.hpp"
#include "trireme/optim/options.hpp"

namespace trireme::optim {

/// One owned rectangle with its optimizer state; what checkpoints are made of. Host, contiguous, fp32.
struct OwnedState {
  const tensor::Parameter* parameter = nullptr;
  tensor::Shard rectangle;  ///< within the global shape
  float* weight = nullptr;
  float* first_moment = nullptr;
  float* second_moment = nullptr;
};

class Optimizer {
 public:
  /// Moments come from the arena: of the own pieces with zero_stage 1, of everything with 0.
  Optimizer(const device::Device& device, GradientSync& gradients, comm::Communicator& data_axis,
            comm::Communicator& world, device::Arena& arena, const OptimizerOptions& options,
            const ShardingOptions& sharding);
  ~Optimizer();

  /// Norm of the whole model's gradient, each logical element once (a tied embedding: of the sum of its two gradients);
  /// exact, so the same bits on every grid. NaN when any element is not finite. Collective over world.
  [[nodiscard]] double gradient_norm();

  /// AdamW with gradients times `gradient_scale`, then every rank gets all weights. `update` counts from 1. Collective
  /// over the data axis.
  void update(double learning_rate, double gradient_scale, std::int64_t update);

  /// This rank's part of the state, each logical element owned by exactly one rank of the world.
  [[nodiscard]] std::vector<OwnedState> owned_state();
  /// After the owned weights and moments were loaded: gives every rank what it holds of others. Collective.
  void share_loaded_state();

  /// `decay: 50 tensors, 124 M parameters (token.weight, query.weight, ...); no decay: ...`, for the start of a run.
  [[nodiscard]] std::string describe_groups() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The clip factor: 1 when clip_norm is 0 or norm <= clip_norm, else clip_norm / norm.
[[nodiscard]] double clip_factor(double norm, double clip_norm);

}  // namespace trireme::optim
