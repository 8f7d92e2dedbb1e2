#include "trireme/layers/block.hpp"

#include <algorithm>
#include <vector>

#include "trireme/kernels/reduce.hpp"

#include "layers/views.hpp"

namespace trireme::layers {

namespace {

using tensor::Tensor;

/// In this order: first norm, second norm, bias of the attention's output, bias of the mlp's output.
std::vector<tensor::Parameter*> summed_over_rows(const Norm& norm_1, const Norm& norm_2, const Attention& attention,
                                                 const Mlp& mlp) {
  std::vector<tensor::Parameter*> parameters = norm_1.parameters();
  for (tensor::Parameter* parameter : norm_2.parameters()) parameters.push_back(parameter);
  for (tensor::Parameter* bias : {attention.row_bias(), mlp.row_bias()}) {
    if (bias != nullptr) parameters.push_back(bias);
  }
  return parameters;
}

}  // namespace

Block::Block(tensor::ParameterStore& parameters, const BlockOptions& options, const TensorAxis& axis)
    : options_(options),
      norm_1_(parameters, options.norm_1, axis),
      attention_(parameters, options.attention, axis),
      norm_2_(parameters, options.norm_2, axis),
      mlp_(parameters, options.mlp, axis),
      row_sums_(summed_over_rows(norm_1_, norm_2_, attention_, mlp_)),
      sums_({.norm_2 = static_cast<std::int64_t>(norm_1_.parameters().size())}) {
  sums_.attention_bias = sums_.norm_2 + static_cast<std::int64_t>(norm_2_.parameters().size());
  sums_.mlp_bias = sums_.attention_bias + (attention_.row_bias() != nullptr ? 1 : 0);
}

BlockActivations Block::allocate(device::Arena& arena, const TensorAxis& axis, std::int64_t batch, std::int64_t tokens,
                                 const AttentionCore* shared_core) const {
  const std::int64_t own_rows = axis.max_own_rows(batch * tokens);
  const auto row_tensor = [&] { return allocate_activation(arena, {own_rows, options_.norm_1.width}, axis.compute()); };
  BlockActivations activations;
  activations.statistics_1 = norm_1_.allocate(arena, own_rows);
  activations.statistics_2 = norm_2_.allocate(arena, own_rows);
  activations.normed_1 = row_tensor();
  activations.attention = attention_.allocate(arena, axis, batch, tokens, shared_core);
  activations.middle = row_tensor();
  activations.normed_2 = row_tensor();
  activations.mlp = mlp_.allocate(arena, axis, batch * tokens);
  activations.output = row_tensor();
  return activations;
}

BlockGradients Block::allocate_gradients(device::Arena& arena, const TensorAxis& axis, std::int64_t batch,
                                         std::int64_t tokens, bool core_again) const {
  const std::int64_t own_rows = axis.max_own_rows(batch * tokens);
  const auto row_tensor = [&] { return allocate_activation(arena, {own_rows, options_.norm_1.width}, axis.compute()); };
  return {.attention_branch = row_tensor(),
          .mlp_branch = row_tensor(),
          .normed = row_tensor(),
          .row_sums = row_sums_.allocate(arena, axis, options_.norm_1.width),
          .attention = attention_.allocate_gradients(arena, axis, batch, tokens, core_again),
          .mlp = mlp_.allocate_gradients(arena, axis, batch * tokens)};
}

AttentionCore Block::allocate_core(device::Arena& arena, const TensorAxis& axis, std::int64_t batch,
                                   std::int64_t tokens) const {
  return attention_.allocate_core(arena, axis, batch, tokens);
}

KeyValueCache Block::allocate_cache(device::Arena& arena, const TensorAxis& axis, std::int64_t context) const {
  return attention_.allocate_cache(arena, axis, context);
}

void Block::forward(const Context& context, const Sequences& sequences, const Tensor& rotary_table, const Tensor& x,
                    BlockActivations& activations, const Tensor& branch, KeyValueCache* cache) const {
  const std::int64_t rows = sequences.rows();
  const Range own = context.axis.own_rows(rows);
  const Tensor normed_1 = activations.normed_1.rows(0, own.count);
  const Tensor middle = activations.middle.rows(0, own.count);
  const Tensor normed_2 = activations.normed_2.rows(0, own.count);
  activations.input = x;

  norm_1_.forward(context, x, normed_1, activations.statistics_1);
  attention_.forward(context, sequences, rotary_table, normed_1, branch, activations.attention, cache);
  kernels::residual_add(context.device, sequences.dropout(options_.dropout, options_.attention_dropout_site, own.begin),
                        x, branch, middle);

  norm_2_.forward(context, middle, normed_2, activations.statistics_2);
  mlp_.forward(context, rows, normed_2, branch, activations.mlp);
  kernels::residual_add(context.device, sequences.dropout(options_.dropout, options_.mlp_dropout_site, own.begin),
                        middle, branch, activations.output.rows(0, own.count));
}

void Block::backward_input(const Context& context, const Sequences& sequences, const Tensor& rotary_table,
                           const BlockActivations& activations, const BlockGradients& gradients,
                           const Tensor& gradient) const {
  using kernels::Write;
  const std::int64_t rows = sequences.rows();
  const Range own = context.axis.own_rows(rows);
  const Tensor normed = gradients.normed.rows(0, own.count);
  const Tensor mlp_branch = gradients.mlp_branch.rows(0, own.count);
  const Tensor attention_branch = gradients.attention_branch.rows(0, own.count);
  const Tensor& sums = gradients.row_sums;

  kernels::dropout_apply(context.device, sequences.dropout(options_.dropout, options_.mlp_dropout_site, own.begin),
                         gradient, mlp_branch);
  mlp_.backward_input(context, rows, activations.mlp, mlp_branch, gradients.mlp, normed);
  norm_2_.backward(context, rows, normed, activations.middle.rows(0, own.count), activations.statistics_2, gradient,
                   Write::add, row_sums_, sums_.norm_2, sums);

  kernels::dropout_apply(context.device,
                         sequences.dropout(options_.dropout, options_.attention_dropout_site, own.begin), gradient,
                         attention_branch);
  attention_.backward_input(context, sequences, rotary_table, activations.attention, attention_branch,
                            gradients.attention, normed);
  norm_1_.backward(context, rows, normed, activations.input, activations.statistics_1, gradient, Write::add, row_sums_,
                   sums_.norm_1, sums);

  if (attention_.row_bias() != nullptr) {
    row_sums_.sum_columns(context, rows, attention_branch, sums_.attention_bias, sums);
  }
  if (mlp_.row_bias() != nullptr) row_sums_.sum_columns(context, rows, mlp_branch, sums_.mlp_bias, sums);
}

void Block::backward_weight(const Context& context, std::int64_t rows, const BlockActivations& activations,
                            const BlockGradients& gradients, kernels::Write write) const {
  const std::int64_t count = context.axis.own_rows(rows).count;
  mlp_.backward_weight(context, rows, activations.mlp, activations.normed_2.rows(0, count),
                       gradients.mlp_branch.rows(0, count), gradients.mlp, write);
  attention_.backward_weight(context, rows, activations.attention, activations.normed_1.rows(0, count),
                             gradients.attention_branch.rows(0, count), gradients.attention, write);
  row_sums_.finish(context, gradients.row_sums, write);
}

std::int64_t Block::scratch_bytes(const Context& context, std::int64_t batch, std::int64_t tokens) const {
  const std::int64_t rows = batch * tokens;
  const std::int64_t row_sum_elements = kernels::column_sum_scratch_elements(rows, options_.norm_1.width);
  return std::max({norm_1_.scratch_bytes(rows), attention_.scratch_bytes(context, batch, tokens),
                   mlp_.scratch_bytes(rows), row_sum_elements * static_cast<std::int64_t>(sizeof(float))});
}

}  // namespace trireme::layers
