// A model read from a checkpoint, for forward passes.
#pragma once

#include <functional>
#include <optional>

#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/comm/process_grid.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/kernels/gemm.hpp"
#include "trireme/layers/tensor_axis.hpp"
#include "trireme/model/stage.hpp"

namespace trireme::infer {

class LoadedModel {
 public:
  /// lay_out takes the activations; it is called twice, first on a measuring arena. The model is split over the axes
  /// tensor and pipeline of the grid. Collective over the grid.
  LoadedModel(const comm::ProcessGrid& grid, const device::Device& device, const std::string& checkpoint,
              const std::function<void(model::Stage&, device::Arena&)>& lay_out);

  [[nodiscard]] model::Stage& stage() { return *stage_; }
  [[nodiscard]] const checkpoint::Metadata& metadata() const { return metadata_; }
  [[nodiscard]] const config::Deck& deck() const { return deck_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  checkpoint::Metadata metadata_;
  config::Deck deck_;
  device::Arena arena_;
  std::optional<layers::TensorAxis> tensor_axis_;
  std::optional<kernels::Gemm> gemm_;
  std::optional<model::Stage> stage_;
};

}  // namespace trireme::infer
