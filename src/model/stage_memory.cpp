// Where the Stage's activations come from.
#include <algorithm>

#include "trireme/kernels/rotary.hpp"
#include "trireme/model/stage.hpp"

namespace trireme::model {

using device::MemoryClass;
using layers::BlockActivations;

void Stage::allocate_weights(device::Arena& arena) {
  for (tensor::Parameter& parameter : parameters_.all()) {
    if (!parameter.tied_to.empty()) continue;
    parameter.weight = tensor::allocate(arena, parameter.shard.extent, optim::weight_dtype(parameter, axis_.compute()),
                                        MemoryClass::parameters);
  }
}

/// [n, D] of a micro-batch of N rows.
tensor::Tensor Stage::allocate_rows(device::Arena& arena, std::int64_t rows) const {
  return tensor::allocate(arena, {axis_.max_own_rows(rows), options_.width}, axis_.compute(), MemoryClass::activations);
}

/// What every use of the stage needs: buffers of the tensor axis, scratch, the rotary table, the head's.
void Stage::allocate_common(device::Arena& arena, std::int64_t batch, std::int64_t tokens) {
  const std::int64_t rows = batch * tokens;
  axis_.allocate(arena, rows);
  std::int64_t scratch = 0;
  for (const Chunk& chunk : chunks_) {
    for (const layers::Block& block : chunk.blocks) {
      scratch = std::max(scratch, block.scratch_bytes(context(), batch, tokens));
    }
  }
  if (head_) scratch = std::max(scratch, head_->scratch_bytes(rows));
  scratch_ = tensor::allocate(arena, {scratch}, Dtype::u8, MemoryClass::buffers);
  if (options_.position == Position::rotary) {
    rotary_table_ = tensor::allocate(arena, {options_.context, options_.head_width}, Dtype::f32, MemoryClass::buffers);
    if (!arena.measuring()) kernels::rotary_table(options_.rotary_base, rotary_table_);
  }
  branch_ = allocate_rows(arena, rows);
  if (!head_) return;
  log_probability_ = tensor::allocate(arena, {rows}, Dtype::f32, MemoryClass::activations);
  coefficients_ = tensor::allocate(arena, {rows}, Dtype::f32, MemoryClass::activations);
  head_activations_ = head_->allocate(arena, axis_, rows);
}

BlockActivations Stage::allocate_block(device::Arena& arena, const layers::Block& block, Recompute recompute,
                                       std::int64_t batch, std::int64_t tokens) {
  switch (recompute) {
    case Recompute::none:
      return block.allocate(arena, axis_, batch, tokens, nullptr);
    case Recompute::selective:
      if (shared_core_.output.shape.num_dims() == 0) {
        shared_core_ = block.allocate_core(arena, axis_, batch, tokens);
      }
      return block.allocate(arena, axis_, batch, tokens, &shared_core_);
    case Recompute::full:
      break;
  }
  if (made_again_.middle.shape.num_dims() == 0) made_again_ = block.allocate(arena, axis_, batch, tokens, nullptr);
  BlockActivations output_only;
  output_only.output = allocate_rows(arena, batch * tokens);
  return output_only;
}

/// What block number `index` of the chunks needs: what the one that keeps the most does.
Recompute Stage::least_recompute(std::size_t index) const {
  Recompute least = Recompute::full;
  for (const Chunk& chunk : chunks_) {
    if (index >= chunk.blocks.size()) continue;
    least = std::min(least, recompute_of(chunk.range.first_block + static_cast<std::int64_t>(index)));
  }
  return least;
}

/// A slot that the longest chunk fits in; all blocks have the same shapes, so it fits the others too.
Stage::Slot Stage::allocate_slot(device::Arena& arena, const Chunk& longest, std::int64_t batch) {
  Slot slot;
  slot.input = allocate_rows(arena, batch * options_.context);
  slot.gradient = allocate_rows(arena, batch * options_.context);
  for (std::size_t index = 0; index < longest.blocks.size(); ++index) {
    slot.blocks.push_back(
        allocate_block(arena, longest.blocks[index], least_recompute(index), batch, options_.context));
  }
  return slot;
}

std::vector<layers::BlockGradients> Stage::allocate_gradient_slot(device::Arena& arena, const Chunk& longest,
                                                                  std::int64_t batch) {
  std::vector<layers::BlockGradients> set;
  for (std::size_t index = 0; index < longest.blocks.size(); ++index) {
    set.push_back(least_recompute(index) == Recompute::full
                      ? layers::BlockGradients{}
                      : longest.blocks[index].allocate_gradients(arena, axis_, batch, options_.context,
                                                                 recompute_.mode == Recompute::selective));
  }
  return set;
}

void Stage::allocate_training(device::Arena& arena, std::int64_t micro_batch, const StageSlots& slots) {
  allocate_common(arena, micro_batch, options_.context);
  const auto longest = std::max_element(
      chunks_.begin(), chunks_.end(), [](const Chunk& a, const Chunk& b) { return a.blocks.size() < b.blocks.size(); });
  for (int slot = 0; slot < slots.activations; ++slot) {
    const Slot memory = allocate_slot(arena, *longest, micro_batch);
    for (Chunk& chunk : chunks_) {
      Slot& held = chunk.slots.emplace_back(memory);
      held.blocks.resize(chunk.blocks.size());
    }
  }
  for (int slot = 0; slot < slots.gradients; ++slot) {
    const std::vector<layers::BlockGradients> memory = allocate_gradient_slot(arena, *longest, micro_batch);
    for (Chunk& chunk : chunks_) chunk.gradients.push_back(memory);
  }
  const bool fused = slots.gradients == 0 || recompute_.mode == Recompute::full;
  if (!fused || longest->blocks.empty()) return;
  block_gradients_ = longest->blocks.front().allocate_gradients(arena, axis_, micro_batch, options_.context,
                                                                recompute_.mode == Recompute::selective);
}

/// Forward passes only: all blocks work in the same activations, whose output is their input too (a block writes it
/// last).
Stage::Slot Stage::allocate_forward_slot(device::Arena& arena, std::size_t blocks, std::int64_t batch) {
  Slot slot;
  slot.input = allocate_rows(arena, batch * options_.context);
  BlockActivations output_only;
  output_only.output = made_again_.output;
  slot.blocks.assign(blocks, output_only);
  return slot;
}

void Stage::allocate_evaluation(device::Arena& arena, std::int64_t micro_batch) {
  allocate_common(arena, micro_batch, options_.context);
  for (const Chunk& chunk : chunks_) {
    if (chunk.blocks.empty() || made_again_.middle.shape.num_dims() > 0) continue;
    made_again_ = chunk.blocks.front().allocate(arena, axis_, micro_batch, options_.context, nullptr);
  }
  for (Chunk& chunk : chunks_) chunk.slots.push_back(allocate_forward_slot(arena, chunk.blocks.size(), micro_batch));
}

void Stage::allocate_generation(device::Arena& arena) {
  allocate_evaluation(arena, 1);
  for (Chunk& chunk : chunks_) {
    for (const layers::Block& block : chunk.blocks) {
      chunk.caches.push_back(block.allocate_cache(arena, axis_, options_.context));
    }
  }
}

}  // namespace trireme::model
