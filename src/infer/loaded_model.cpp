#include "infer/loaded_model.hpp"

#include <deque>

#include "trireme/comm/communicator.hpp"
#include "trireme/kernels/cast.hpp"
#include "trireme/layers/slices.hpp"
#include "trireme/model/partition.hpp"

namespace trireme::infer {

namespace {

/// Reads the weights of one bucket, which are stored in fp32, and rounds them to what the model computes with.
void read_bucket(const device::Device& device, checkpoint::Reader& reader,
                 const std::vector<tensor::Parameter*>& bucket) {
  std::vector<checkpoint::Piece> pieces;
  std::deque<std::vector<float>> stored;
  for (const tensor::Parameter* parameter : bucket) {
    if (!parameter->tied_to.empty()) continue;
    const bool rounds = parameter->weight.dtype != Dtype::f32;
    if (rounds) stored.emplace_back(static_cast<std::size_t>(parameter->weight.size()));
    pieces.push_back({.name = "weights/" + parameter->name,
                      .global_shape = parameter->global_shape,
                      .rectangle = parameter->shard,
                      .data = rounds ? stored.back().data() : parameter->weight.data});
  }
  reader.read(pieces);
  for (const tensor::Parameter* parameter : bucket) {
    if (!parameter->tied_to.empty() || parameter->weight.dtype == Dtype::f32) continue;
    kernels::cast(device, {.data = stored.front().data(), .shape = parameter->weight.shape}, parameter->weight);
    stored.pop_front();
  }
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
  const Dtype compute = deck_.precision.compute_type();
  const int tensor_size = grid.size(comm::Axis::tensor);
  const std::int64_t slices = layers::resolve_slices(
      0, {.heads = model.heads, .kv_heads = model.kv_heads, .mlp_width = model.mlp_width}, tensor_size, false);
  tensor_axis_.emplace(grid.along(comm::Axis::tensor), device,
                       layers::TensorAxisOptions{.slices = slices,
                                                 .kv_heads = model.kv_heads,
                                                 .head_width = model.head_width,
                                                 .width = model.width,
                                                 .compute = compute});
  const model::ChunkRange chunk = model::partition(model, grid.size(comm::Axis::pipeline), 1,
                                                   {})[static_cast<std::size_t>(grid.coordinate(comm::Axis::pipeline))];

  const auto build = [&](device::Arena& arena) {
    stage_.reset();
    gemm_.emplace(device, arena, compute);
    stage_.emplace(device, *gemm_, *tensor_axis_, model, std::vector{chunk});
    stage_->allocate_weights(arena);
    lay_out(*stage_, arena);
  };
  device::Arena plan;
  build(plan);
  comm::on_all(world, [&] { arena_ = device::Arena(plan.used_bytes()); });
  build(arena_);
  tensor::ParameterStore& parameters = stage_->parameters();
  for (int bucket = 0; bucket < parameters.num_buckets(); ++bucket) {
    read_bucket(device, reader, parameters.bucket(bucket));
  }
}

}  // namespace trireme::infer
