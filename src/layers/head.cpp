#include "trireme/layers/head.hpp"

#include <algorithm>

#include "trireme/kernels/cross_entropy.hpp"

namespace trireme::layers {

namespace {

using tensor::Tensor;

/// Rows of logits start on 64 bytes.
std::int64_t padded(std::int64_t vocab) {
  return (vocab + 15) / 16 * 16;
}

/// Calls work(first row, rows) for each chunk of `rows`.
template <class Work>
void for_each_chunk(std::int64_t rows, Work&& work) {
  for (std::int64_t begin = 0; begin < rows; begin += Head::chunk_rows) {
    work(begin, std::min(Head::chunk_rows, rows - begin));
  }
}

}  // namespace

Head::Head(tensor::ParameterStore& parameters, const HeadOptions& options)
    : options_(options), norm_(parameters, options.norm) {
  const tensor::Shape shape{options.vocab, options.width};
  tensor::Parameter weight{.name = "head.weight",
                           .global_shape = shape,
                           .shard = tensor::whole(shape),
                           .initial = tensor::Initial::normal,
                           .deviation = options.initial_deviation,
                           .decays = true,
                           .bucket = options.weight_bucket};
  if (options.tied) weight.tied_to = "embedding.token.weight";
  gradient_ = &parameters.add(weight);
  table_ = options.tied ? parameters.find("embedding.token.weight") : gradient_;
  TRIREME_EXPECT(table_ != nullptr);
}

Head::Activations Head::allocate(device::Arena& arena, std::int64_t rows) const {
  const auto make = [&](std::int64_t count, std::int64_t columns) {
    return tensor::allocate(arena, {count, columns}, Dtype::f32, device::MemoryClass::activations);
  };
  return {.statistics = norm_.allocate(arena, rows),
          .normed = make(rows, options_.width),
          .gradient = make(rows, options_.width),
          .logits = make(std::min(rows, chunk_rows), padded(options_.vocab))};
}

void Head::evaluate(const Context& context, const Tensor& x, const Tensor& targets, const Activations& activations,
                    const Tensor& log_probability) const {
  const std::int64_t rows = x.shape.rows();
  norm_.forward(context, x, activations.normed.rows(0, rows), activations.statistics);
  for_each_chunk(rows, [&](std::int64_t begin, std::int64_t count) {
    const Tensor logits = activations.logits.rows(0, count);
    context.gemm.forward(activations.normed.rows(begin, count), weight(), {}, logits);
    kernels::cross_entropy(context.device, logits, options_.vocab, targets.rows(begin, count), {},
                           log_probability.rows(begin, count));
  });
}

void Head::forward_backward(const Context& context, const Tensor& x, const Tensor& targets, const Tensor& coefficients,
                            const Activations& activations, const Tensor& log_probability, const Tensor& dx,
                            kernels::Write norm_write, kernels::Write weight_write) const {
  using kernels::Write;
  const std::int64_t rows = x.shape.rows();
  const Tensor normed = activations.normed.rows(0, rows);
  const Tensor gradient = activations.gradient.rows(0, rows);
  norm_.forward(context, x, normed, activations.statistics);
  for_each_chunk(rows, [&](std::int64_t begin, std::int64_t count) {
    const Tensor logits = activations.logits.rows(0, count);
    context.gemm.forward(normed.rows(begin, count), weight(), {}, logits);
    kernels::cross_entropy(context.device, logits, options_.vocab, targets.rows(begin, count),
                           coefficients.rows(begin, count), log_probability.rows(begin, count));
    context.gemm.backward_input(logits, weight(), gradient.rows(begin, count), Write::set);
    context.gemm.backward_weight(logits, normed.rows(begin, count), gradient_->gradient,
                                 begin == 0 ? weight_write : Write::add);
  });
  norm_.backward(context, gradient, x, activations.statistics, dx, Write::set, norm_write);
}

void Head::logits(const Context& context, const Tensor& x, const Activations& activations) const {
  const std::int64_t rows = x.shape.rows();
  TRIREME_EXPECT(rows <= activations.logits.shape[0]);
  norm_.forward(context, x, activations.normed.rows(0, rows), activations.statistics);
  context.gemm.forward(activations.normed.rows(0, rows), weight(), {}, activations.logits.rows(0, rows));
}

std::int64_t Head::scratch_bytes(std::int64_t rows) const {
  return norm_.scratch_bytes(rows);
}

}  // namespace trireme::layers
