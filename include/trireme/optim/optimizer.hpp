// AdamW over the pieces that this rank owns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trireme/optim/gradient_sync.hpp"
#include "trireme/optim/options.hpp"
#include "trireme/optim/weights.hpp"

namespace trireme::optim {

/// One rectangle of the model that this rank keeps, with its optimizer state; what checkpoints are made of. Host,
/// contiguous, fp32: in half precision the weight is the master.
struct StatePiece {
  const tensor::Parameter* parameter = nullptr;
  tensor::Shard rectangle;  ///< within the global shape
  float* weight = nullptr;
  float* first_moment = nullptr;  ///< both moments: nullptr for a table that follows
  float* second_moment = nullptr;
  bool counted = false;  ///< exactly one rank of the world counts each logical element: that one saves it
};

class Optimizer {
 public:
  /// Moments of the own pieces come from the arena, 8 bytes an element. All arguments but arena and options must
  /// outlive this object. A bucket has a second gradient when another one's entries are tied_to the name of its own: as
  /// many, cut alike.
  Optimizer(const device::Device& device, Weights& weights, GradientSync& gradients, const DataAxis& data_axis,
            comm::Communicator& world, device::Arena& arena, const OptimizerOptions& options);
  ~Optimizer();

  /// Norm of the whole model's gradient, each logical element once (a tied embedding: of the sum of its two gradients);
  /// exact, so the same bits on every grid. NaN when any element is not finite. Collective over world.
  /// Of gradients with a loss scale, a power of two: the norm times it, whatever the scale is, as the square of no fp32
  /// number leaves the range of double.
  [[nodiscard]] double gradient_norm();

  /// Called with each bucket as soon as its own piece has its new weights, in ascending order.
  using AfterBucket = std::function<void(int bucket)>;
  /// AdamW with gradients times `gradient_scale`, bucket by bucket, while the new pieces of the earlier ones travel;
  /// then every rank has the new weights. `update` counts from 1. Collective inside the group.
  void update(double learning_rate, double gradient_scale, std::int64_t update, const AfterBucket& after_bucket = {});

  /// All that this rank keeps: loading fills every piece, saving takes those that are counted.
  [[nodiscard]] std::vector<StatePiece> state();
  /// After all pieces of the state were loaded: gives every rank the weights it holds of others. Collective inside the
  /// group.
  void share_loaded_state();

  /// The tensors that this rank has a part of, as text for describe_decay_groups().
  [[nodiscard]] std::string decay_lines() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// `decay: 50 tensors, 124 M parameters (token.weight, query.weight, ...); no decay: ...`, for the start of a run: of
/// all tensors in the lines of several ranks, such as all stages of a pipeline; each name counts once.
[[nodiscard]] std::string describe_decay_groups(const std::vector<std::string>& decay_lines_of_ranks);

/// The clip factor: 1 when clip_norm is 0 or norm <= clip_norm, else clip_norm / norm.
[[nodiscard]] double clip_factor(double norm, double clip_norm);

}  // namespace trireme::optim
