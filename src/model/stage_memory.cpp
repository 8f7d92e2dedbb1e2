// Where the Stage's activations come from.
#include <algorithm>

#include "trireme/kernels/rotary.hpp"
#include "trireme/model/stage.hpp"

namespace trireme::model {

using device::MemoryClass;

void Stage::allocate_weights(device::Arena& arena) {
  for (tensor::Parameter& parameter : parameters_.all()) {
    if (!parameter.tied_to.empty()) continue;
    parameter.weight = tensor::allocate(arena, parameter.shard.extent, Dtype::f32, MemoryClass::parameters);
  }
}

void Stage::allocate_common(device::Arena& arena, std::int64_t batch, std::int64_t tokens) {
  const std::int64_t rows = batch * tokens;
  std::int64_t scratch = head_->scratch_bytes(rows);
  for (const layers::Block& block : blocks_) scratch = std::max(scratch, block.scratch_bytes(device_, batch, tokens));
  scratch_ = tensor::allocate(arena, {scratch}, Dtype::u8, MemoryClass::buffers);
  if (options_.position == Position::rotary) {
    rotary_table_ = tensor::allocate(arena, {options_.context, options_.head_width}, Dtype::f32, MemoryClass::buffers);
    if (!arena.measuring()) kernels::rotary_table(options_.rotary_base, rotary_table_);
  }
  embedded_ = tensor::allocate(arena, {rows, options_.width}, Dtype::f32, MemoryClass::activations);
  branch_ = tensor::allocate(arena, {rows, options_.width}, Dtype::f32, MemoryClass::activations);
  log_probability_ = tensor::allocate(arena, {rows}, Dtype::f32, MemoryClass::activations);
  head_activations_ = head_->allocate(arena, rows);
}

void Stage::allocate_training(device::Arena& arena, std::int64_t micro_batch) {
  const std::int64_t tokens = options_.context;
  const std::int64_t rows = micro_batch * tokens;
  allocate_common(arena, micro_batch, tokens);
  gradient_ = tensor::allocate(arena, {rows, options_.width}, Dtype::f32, MemoryClass::activations);
  coefficients_ = tensor::allocate(arena, {rows}, Dtype::f32, MemoryClass::activations);
  for (const layers::Block& block : blocks_) activations_.push_back(block.allocate(arena, micro_batch, tokens));
  if (!blocks_.empty()) block_gradients_ = blocks_.front().allocate_gradients(arena, rows);
}

void Stage::allocate_evaluation(device::Arena& arena, std::int64_t micro_batch) {
  allocate_common(arena, micro_batch, options_.context);
  if (!blocks_.empty()) activations_.push_back(blocks_.front().allocate(arena, micro_batch, options_.context));
}

void Stage::allocate_generation(device::Arena& arena) {
  allocate_evaluation(arena, 1);
  for (const layers::Block& block : blocks_) caches_.push_back(block.allocate_cache(arena, options_.context));
}

}  // namespace trireme::model
