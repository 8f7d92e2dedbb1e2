// A run's memory and one step of it.
// A micro-batch holds B sequences of T tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/comm/process_grid.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/data/loader.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/kernels/gemm.hpp"
#include "trireme/layers/tensor_axis.hpp"
#include "trireme/model/stage.hpp"
#include "trireme/optim/data_axis.hpp"
#include "trireme/optim/gradient_sync.hpp"
#include "trireme/optim/loss_scale.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/optim/weights.hpp"
#include "trireme/pipeline/evaluate.hpp"
#include "trireme/pipeline/executor.hpp"
#include "trireme/pipeline/nonfinite.hpp"
#include "trireme/pipeline/tied_weights.hpp"

#include "train/audit.hpp"
#include "train/fingerprints.hpp"

namespace trireme::train {

enum class StepOutcome : std::uint8_t {
  updated,
  overflow,  ///< of scaled gradients in fp16: not updated, the loss scale falls
  nonfinite  ///< loss or gradient norm: not updated
};

/// What a step says of itself.
struct StepResult {
  double loss = 0;
  double gradient_norm = 0;
  double learning_rate = 0;
  std::int64_t counted = 0;  ///< tokens of the whole global batch in the loss
  double loss_scale = 1;     ///< of this step's gradients
  StepOutcome outcome = StepOutcome::updated;
  std::string culprit;  ///< of a step that is not finite or overflows for good: where it began, if that is known
};

/// Model, gradients and optimizer of this rank, all their memory taken from one arena. Built over a measuring arena it
/// tells what a run will need; it must not compute then.
class Trainer {
 public:
  Trainer(const device::Device& device, comm::ProcessGrid& grid, const config::Deck& deck, device::Arena& arena);

  /// Draws the first weights.
  void start_fresh();
  /// Takes weights and moments from a checkpoint of any grid. Collective.
  void load(checkpoint::Reader& reader);

  /// The update that makes step + 1 of a run: collective over the grid.
  /// With `events`, what took time is appended (row: this stage; seconds of `clock`).
  StepResult step(std::int64_t step, const data::StepBatch& batch, std::vector<pipeline::Event>* events = nullptr,
                  const Timer& clock = {});
  /// Of the last step, with numerics.trace. Collective over the grid.
  [[nodiscard]] std::vector<Fingerprint> fingerprints(const StepResult& result);
  /// Audit::run() on the state that `step` steps have made.
  void audit(std::int64_t step, bool replicas, bool finite);
  [[nodiscard]] pipeline::Evaluation evaluate(const data::ValidationSet& validation);

  /// Rectangles of weights and moments for a checkpoint: those that this rank stands for, each logical element on one
  /// rank of the grid.
  [[nodiscard]] std::vector<checkpoint::Piece> pieces();
  /// Everything that this rank holds of the state.
  [[nodiscard]] std::vector<optim::HeldArray> held_state() { return optim::held_state(weights_, optimizer_); }
  [[nodiscard]] std::int64_t skipped() const noexcept { return skipped_; }
  /// Steps up to now, one after the other, that were skipped as not finite.
  [[nodiscard]] std::int64_t nonfinite_in_a_row() const noexcept { return nonfinite_in_a_row_; }
  [[nodiscard]] const optim::LossScale& loss_scale() const noexcept { return loss_scale_; }
  /// Collective over the pipeline axis.
  [[nodiscard]] std::string describe_groups() const;
  /// Messages of this rank along the tensor axis so far, a line for each kind of layer; empty with one tensor rank.
  [[nodiscard]] std::string describe_traffic() const;
  /// Blocks of this rank, `0-3` or `0-1, 4-5`.
  [[nodiscard]] std::string layers_text() const;
  [[nodiscard]] kernels::Gemm& gemm() noexcept { return gemm_; }
  /// FLOP of all products so far.
  [[nodiscard]] double flop() const noexcept { return gemm_.flop(); }
  [[nodiscard]] std::int64_t owned_elements();

 private:
  [[nodiscard]] StepOutcome outcome_of(const StepResult& result);
  [[nodiscard]] std::string culprit_of(const data::StepBatch& batch) const;

  const device::Device& device_;
  const config::Deck& deck_;
  comm::ProcessGrid& grid_;
  std::vector<model::ChunkRange> chunks_;
  layers::TensorAxis tensor_axis_;
  optim::DataAxis data_axis_;
  kernels::Gemm gemm_;
  model::Stage stage_;
  optim::Weights weights_;
  optim::GradientSync gradients_;
  optim::Optimizer optimizer_;
  Audit audit_;
  pipeline::TiedWeights tied_weights_;
  pipeline::Executor executor_;
  pipeline::NonfiniteWatch watch_;
  std::optional<Fingerprints> fingerprints_;
  optim::LossScale loss_scale_;
  std::int64_t skipped_ = 0;
  std::int64_t nonfinite_in_a_row_ = 0;
};

}  // namespace trireme::train
