#include "trireme/layers/block.hpp"

#include <algorithm>

namespace trireme::layers {

using tensor::Tensor;

Block::Block(tensor::ParameterStore& parameters, const BlockOptions& options)
    : options_(options),
      norm_1_(parameters, options.norm_1),
      attention_(parameters, options.attention),
      norm_2_(parameters, options.norm_2),
      mlp_(parameters, options.mlp) {}

BlockActivations Block::allocate(device::Arena& arena, std::int64_t batch, std::int64_t tokens) const {
  const std::int64_t rows = batch * tokens;
  const auto row_tensor = [&] {
    return tensor::allocate(arena, {rows, options_.norm_1.width}, Dtype::f32, device::MemoryClass::activations);
  };
  BlockActivations activations;
  activations.statistics_1 = norm_1_.allocate(arena, rows);
  activations.statistics_2 = norm_2_.allocate(arena, rows);
  activations.normed_1 = row_tensor();
  activations.attention = attention_.allocate(arena, batch, tokens);
  activations.middle = row_tensor();
  activations.normed_2 = row_tensor();
  activations.mlp = mlp_.allocate(arena, rows);
  activations.output = row_tensor();
  return activations;
}

BlockGradients Block::allocate_gradients(device::Arena& arena, std::int64_t rows) const {
  const auto row_tensor = [&] {
    return tensor::allocate(arena, {rows, options_.norm_1.width}, Dtype::f32, device::MemoryClass::activations);
  };
  return {.attention_branch = row_tensor(),
          .mlp_branch = row_tensor(),
          .normed = row_tensor(),
          .attention = attention_.allocate_gradients(arena, rows),
          .mlp = mlp_.allocate_gradients(arena, rows)};
}

KeyValueCache Block::allocate_cache(device::Arena& arena, std::int64_t context) const {
  return attention_.allocate_cache(arena, context);
}

void Block::forward(const Context& context, const Sequences& sequences, const Tensor& rotary_table, const Tensor& x,
                    BlockActivations& activations, const Tensor& branch, KeyValueCache* cache) const {
  const std::int64_t rows = sequences.rows();
  const Tensor normed_1 = activations.normed_1.rows(0, rows);
  const Tensor middle = activations.middle.rows(0, rows);
  const Tensor normed_2 = activations.normed_2.rows(0, rows);
  const Tensor output = activations.output.rows(0, rows);
  activations.input = x;

  norm_1_.forward(context, x, normed_1, activations.statistics_1);
  attention_.forward(context, sequences, rotary_table, normed_1, branch, activations.attention, cache);
  kernels::residual_add(context.device, sequences.dropout(options_.dropout, options_.attention_dropout_site),
                        sequences.batch, x, branch, middle);

  norm_2_.forward(context, middle, normed_2, activations.statistics_2);
  mlp_.forward(context, normed_2, branch, activations.mlp);
  kernels::residual_add(context.device, sequences.dropout(options_.dropout, options_.mlp_dropout_site), sequences.batch,
                        middle, branch, output);
}

void Block::backward_input(const Context& context, const Sequences& sequences, const Tensor& rotary_table,
                           const BlockActivations& activations, const BlockGradients& gradients, const Tensor& gradient,
                           kernels::Write write) const {
  using kernels::Write;
  kernels::dropout_apply(context.device, sequences.dropout(options_.dropout, options_.mlp_dropout_site),
                         sequences.batch, gradient, gradients.mlp_branch);
  mlp_.backward_input(context, activations.mlp, gradients.mlp_branch, gradients.mlp, gradients.normed);
  norm_2_.backward(context, gradients.normed, activations.middle, activations.statistics_2, gradient, Write::add,
                   write);

  kernels::dropout_apply(context.device, sequences.dropout(options_.dropout, options_.attention_dropout_site),
                         sequences.batch, gradient, gradients.attention_branch);
  attention_.backward_input(context, sequences, rotary_table, activations.attention, gradients.attention_branch,
                            gradients.attention, gradients.normed);
  norm_1_.backward(context, gradients.normed, activations.input, activations.statistics_1, gradient, Write::add, write);
}

void Block::backward_weight(const Context& context, const BlockActivations& activations,
                            const BlockGradients& gradients, kernels::Write write) const {
  mlp_.backward_weight(context, activations.mlp, activations.normed_2, gradients.mlp_branch, gradients.mlp, write);
  attention_.backward_weight(context, activations.attention, activations.normed_1, gradients.attention_branch,
                             gradients.attention, write);
}

std::int64_t Block::scratch_bytes(const device::Device& device, std::int64_t batch, std::int64_t tokens) const {
  const std::int64_t rows = batch * tokens;
  return std::max(
      {norm_1_.scratch_bytes(rows), attention_.scratch_bytes(device, batch, tokens), mlp_.scratch_bytes(rows)});
}

}  // namespace trireme::layers
