#include "infer/loaded_model.hpp"

#include "trireme/comm/communicator.hpp"
#include "trireme/layers/slices.hpp"
#include "trireme/model/partition.hpp"

namespace trireme::infer {

namespace {

std::vector<checkpoint::Piece> weight_pieces(tensor::ParameterStore& parameters) {
  std::vector<checkpoint::Piece> pieces;
  for (tensor::Parameter& parameter : parameters.all()) {
    if (!parameter.tied_to.empty()) continue;
    pieces.push_back({.name = "weights/" + parameter.name,
                      .global_shape = parameter.global_shape,
                      .dtype = parameter.weight.dtype,
                      .rectangle = parameter.shard,
                      .data = parameter.weight.data});
  }
  return pieces;
}

}  // namespace

LoadedModel::LoadedModel(const comm::ProcessGrid& grid, const device::Device& device, const std::string& checkpoint,
                         const std::function<void(model::Stage&, device::Arena&)>& lay_out) {
  comm::Communicator& world = grid.world();
  comm::on_root(world, [&] { path_ = checkpoint::find_checkpoint(checkpoint); });
  world.broadcast_text(path_, 0);
  checkpoint::Reader reader(world, path_);
  metadata_ = reader.metadata();
  deck_ = config::parse_deck(metadata_.deck, path_ + ": deck", {});

  const model::ModelOptions& model = deck_.model;
  const int tensor_size = grid.size(comm::Axis::tensor);
  const std::int64_t slices = layers::resolve_slices(
      0, {.heads = model.heads, .kv_heads = model.kv_heads, .mlp_width = model.mlp_width}, tensor_size, false);
  tensor_axis_.emplace(
      grid.along(comm::Axis::tensor), device,
      layers::TensorAxisOptions{
          .slices = slices, .kv_heads = model.kv_heads, .head_width = model.head_width, .width = model.width});
  const model::ChunkRange chunk = model::partition(model, grid.size(comm::Axis::pipeline), 1,
                                                   {})[static_cast<std::size_t>(grid.coordinate(comm::Axis::pipeline))];

  const auto build = [&](device::Arena& arena) {
    stage_.reset();
    gemm_.emplace(device, arena);
    stage_.emplace(device, *gemm_, *tensor_axis_, model, std::vector{chunk});
    stage_->allocate_weights(arena);
    lay_out(*stage_, arena);
  };
  device::Arena plan;
  build(plan);
  comm::on_all(world, [&] { arena_ = device::Arena(plan.used_bytes()); });
  build(arena_);
  reader.read(weight_pieces(stage_->parameters()));
}

}  // namespace trireme::infer
