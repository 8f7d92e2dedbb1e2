// A training without a model: gradients are random numbers, a pure function of step, micro-batch, tensor and element.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/tensor/parameter.hpp"

#include "parallel/optim/toy_reference.hpp"

namespace trireme::testing {

/// The part of the options that the sum of the gradients depends on is ToySum.
struct ToyOptions {
  ToySum sum;
  int zero_stage = 1;
  bool tied = true;
  bool only_small = false;  ///< all but vectors of 2 elements frozen
  Dtype compute = Dtype::f32;
};

/// `ZeRO 2, group 4, 2 micro-batches in 1 lanes, tied, fp32`, for traces.
[[nodiscard]] std::string text_of(const ToyOptions& options);

/// True when the weight that a layer reads is these fp32 numbers, rounded to its type, bit for bit.
[[nodiscard]] bool holds(const tensor::Tensor& weight, const float* numbers);

/// The entries of the toy model: sizes that nothing divides, tables in two slices, one row, pairs, an empty tensor, a
/// frozen one, a replica that does not count, a vector of several runs, a bucket number without any.
void fill_store(tensor::ParameterStore& store, const ToyOptions& options);

/// The steps of an executor over a few blocks, with everything between the entries of a bucket poisoned.
class ToyTraining {
 public:
  ToyTraining(comm::Communicator& data_axis, const ToyOptions& options);

  /// One step of this rank's micro-batches: gradients, norm, update with a clip that bites.
  void step();
  /// Tells whether the weights that a layer would read are those of the reference (rounded), bit for bit.
  void check_against(const ToyReference* reference) { reference_ = reference; }
  [[nodiscard]] std::int64_t wrong_weights() const noexcept { return wrong_weights_; }

  [[nodiscard]] double norm() const noexcept { return norm_; }
  [[nodiscard]] tensor::ParameterStore& store() noexcept { return store_; }
  [[nodiscard]] optim::Weights& weights() noexcept { return weights_; }
  [[nodiscard]] optim::GradientSync& gradients() noexcept { return gradients_; }
  [[nodiscard]] optim::Optimizer& optimizer() noexcept { return optimizer_; }
  [[nodiscard]] const optim::DataAxis& data_axis() const noexcept { return data_axis_; }

  /// All weights, whole, compared with the reference's.
  void compare_weights();

 private:
  void micro_batch(std::int64_t number);
  void read(int bucket);
  void write(int bucket, std::int64_t micro_batch);

  ToyOptions options_;
  device::Device device_;
  device::Arena arena_;
  tensor::ParameterStore store_;
  optim::DataAxis data_axis_;
  optim::Weights weights_;
  optim::GradientSync gradients_;
  optim::Optimizer optimizer_;
  const ToyReference* reference_ = nullptr;
  std::int64_t wrong_weights_ = 0;
  double norm_ = 0;
  std::int64_t steps_done_ = 0;
};

}  // namespace trireme::testing
