// A run's memory and one step of it.
// A micro-batch holds B sequences of T tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/comm/process_grid.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/data/loader.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/kernels/gemm.hpp"
#include "trireme/model/stage.hpp"
#include "trireme/optim/gradient_sync.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/pipeline/evaluate.hpp"
#include "trireme/pipeline/schedule.hpp"

namespace trireme::train {

/// How a step's sequences fall on the data axis.
struct StepLayout {
  std::int64_t micro_batches = 1;  ///< of this rank
  std::int64_t lanes = 1;          ///< of this rank
};
/// Throws InputError when batch.global is not a multiple of batch.micro times the data size, naming the legal sizes.
[[nodiscard]] StepLayout lay_out_step(const config::Deck& deck, int data_size);

/// What a step says of itself.
struct StepResult {
  double loss = 0;
  double gradient_norm = 0;
  double learning_rate = 0;
  std::int64_t counted = 0;  ///< tokens of the whole global batch in the loss
  bool skipped = false;
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
  StepResult step(std::int64_t step, const data::StepBatch& batch);
  [[nodiscard]] pipeline::Evaluation evaluate(const data::ValidationSet& validation);

  /// Rectangles of weights and moments that this rank owns, for a checkpoint.
  [[nodiscard]] std::vector<checkpoint::Piece> pieces();
  [[nodiscard]] std::int64_t skipped() const noexcept { return skipped_; }
  void set_skipped(std::int64_t skipped) noexcept { skipped_ = skipped; }
  [[nodiscard]] std::string describe_groups() const { return optimizer_.describe_groups(); }
  [[nodiscard]] kernels::Gemm& gemm() noexcept { return gemm_; }
  [[nodiscard]] std::int64_t owned_elements();

 private:
  const config::Deck& deck_;
  comm::ProcessGrid& grid_;
  kernels::Gemm gemm_;
  model::Stage stage_;
  optim::GradientSync gradients_;
  optim::Optimizer optimizer_;
  pipeline::ActionList actions_;
  std::int64_t skipped_ = 0;
};

}  // namespace trireme::train
