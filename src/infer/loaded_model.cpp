#include "infer/loaded_model.hpp"

#include "trireme/comm/communicator.hpp"

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

LoadedModel::LoadedModel(comm::Communicator& world, const device::Device& device, const std::string& checkpoint,
                         const std::function<void(model::Stage&, device::Arena&)>& lay_out) {
  comm::on_root(world, [&] { path_ = checkpoint::find_checkpoint(checkpoint); });
  world.broadcast_text(path_, 0);
  checkpoint::Reader reader(world, path_);
  metadata_ = reader.metadata();
  deck_ = config::parse_deck(metadata_.deck, path_ + ": deck", {});

  const auto build = [&](device::Arena& arena) {
    stage_.reset();
    gemm_.emplace(device, arena);
    stage_.emplace(device, *gemm_, deck_.model);
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
