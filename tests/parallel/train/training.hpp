// A training by some ranks, with all that it comes to, to be compared bit for bit.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/process_grid.hpp"
#include "trireme/data/loader.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"

#include "parallel/train/cases.hpp"
#include "train/trainer.hpp"

namespace trireme::testing {

/// Whole weights and moments by name.
using State = std::map<std::string, std::vector<float>>;

/// What a training comes to.
struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<double> loss_scales;
  pipeline::Evaluation evaluation;
  State state;  ///< on rank 0 only
};

/// The first difference in words; empty when all bits are equal.
[[nodiscard]] std::string difference(const Outcome& a, const Outcome& b);
[[nodiscard]] std::string difference(const State& a, const State& b);
/// The first loss, norm or evaluation that is further off than `tolerance` of it.
[[nodiscard]] std::string distance(const Outcome& a, const Outcome& b, double tolerance);

/// Model, optimizer and data of one rank of a group as `trireme train` makes them, all in one arena that a measuring
/// one has foretold. All calls are collective over the group.
class Training {
 public:
  /// The group has as many ranks as the case's grid, and must outlive this object.
  Training(comm::Communicator& group, const Case& what, const std::string& data_folder);

  void load(const std::string& checkpoint);
  /// Saves in folder/step_N, N the steps done.
  void save(const std::string& folder);
  void run(int num_steps);
  /// One step whose outcome is the caller's to judge.
  [[nodiscard]] train::StepResult step() { return trainer_->step(steps_, loader_.load(steps_)); }
  /// One step of several.
  [[nodiscard]] train::StepResult step_on() {
    const train::StepResult result = step();
    ++steps_;
    return result;
  }
  [[nodiscard]] pipeline::Evaluation evaluate() { return trainer_->evaluate(validation_); }
  /// Of all steps so far. Audits, gathers and checks that every element stands on exactly one rank.
  [[nodiscard]] Outcome outcome();
  [[nodiscard]] train::Trainer& trainer() noexcept { return *trainer_; }
  [[nodiscard]] const device::Arena& arena() const noexcept { return arena_; }
  [[nodiscard]] const comm::ProcessGrid& grid() const noexcept { return grid_; }

 private:
  [[nodiscard]] State gather();

  comm::Communicator& group_;
  Laid laid_;
  comm::ProcessGrid grid_;
  device::Device device_;
  device::Arena arena_;
  std::unique_ptr<train::Trainer> trainer_;
  data::Dataset dataset_;
  data::Loader loader_;
  data::ValidationSet validation_;
  std::int64_t steps_ = 0;
  Outcome outcome_;
};

}  // namespace trireme::testing
