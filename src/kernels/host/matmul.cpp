#include "kernels/host/matmul.hpp"

#include <string>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "kernels/host/one_thread.hpp"
#include "kernels/host/onednn.hpp"

namespace trireme::kernels::host {

namespace {

using dnnl::memory;

memory::desc describe(std::int64_t rows, std::int64_t columns, const Layout& layout) {
  return {{rows, columns}, onednn_type(layout.dtype), memory::dims{layout.row_stride, layout.column_stride}};
}

memory::desc describe_bias(const MatmulShape& shape) {
  return {{1, shape.n}, memory::data_type::f32, memory::dims{shape.n, 1}};
}

std::string text_of(const MatmulShape& shape) {
  return fmt::format("a product of [{}, {}] by [{}, {}] ({} by {} into {})", shape.m, shape.k, shape.k, shape.n,
                     name_of(shape.a.dtype), name_of(shape.b.dtype), name_of(shape.c.dtype));
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const MatmulShape& shape) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  const memory::desc a = describe(shape.m, shape.k, shape.a);
  const memory::desc b = describe(shape.k, shape.n, shape.b);
  const memory::desc c = describe(shape.m, shape.n, shape.c);
  const dnnl::matmul::desc operation =
      shape.bias ? dnnl::matmul::desc(a, b, describe_bias(shape), c) : dnnl::matmul::desc(a, b, c);
  return {operation, attributes, engine};
}

void set_address(memory& operand, const void* address) {
  operand.set_data_handle(const_cast<void*>(address));
}

}  // namespace

Matmul::Matmul(const dnnl::engine& engine, const MatmulShape& shape, std::span<void* const> scratch,
               std::size_t scratch_bytes)
    : shape_(shape) {
  // The number of threads is fixed when the primitive is created.
  const OneThread one_thread;
  try {
    const auto description = describe(engine, shape);
    const std::size_t needed_bytes = description.scratchpad_desc().get_size();
    if (needed_bytes > scratch_bytes) {
      throw SystemError(
          fmt::format("{} needs {} bytes of scratch (a thread has {})", text_of(shape), needed_bytes, scratch_bytes));
    }
    primitive_ = dnnl::matmul(description);
    for (void* const address : scratch) arguments_.push_back(make_arguments(engine, description, address));
  } catch (const dnnl::error& error) {
    throw_onednn_error(error, "creating " + text_of(shape));
  }
}

Matmul::Arguments Matmul::make_arguments(const dnnl::engine& engine, const dnnl::matmul::primitive_desc& description,
                                         void* scratch) const {
  Arguments arguments{.stream = dnnl::stream(engine),
                      .a = memory(description.src_desc(), engine, nullptr),
                      .b = memory(description.weights_desc(), engine, nullptr),
                      .bias = {},
                      .c = memory(description.dst_desc(), engine, nullptr),
                      .map = {}};
  arguments.map = {{DNNL_ARG_SRC, arguments.a},
                   {DNNL_ARG_WEIGHTS, arguments.b},
                   {DNNL_ARG_DST, arguments.c},
                   {DNNL_ARG_SCRATCHPAD, memory(description.scratchpad_desc(), engine, scratch)}};
  if (shape_.bias) {
    arguments.bias = memory(describe_bias(shape_), engine, nullptr);
    arguments.map.emplace(DNNL_ARG_BIAS, arguments.bias);
  }
  return arguments;
}

void Matmul::run(int thread, const void* a, const void* b, const void* bias, void* c) {
  const OneThread one_thread;
  Arguments& arguments = arguments_[static_cast<std::size_t>(thread)];
  try {
    set_address(arguments.a, a);
    set_address(arguments.b, b);
    set_address(arguments.c, c);
    if (shape_.bias) set_address(arguments.bias, bias);
    primitive_.execute(arguments.stream, arguments.map);
  } catch (const dnnl::error& error) {
    throw_onednn_error(error, "computing " + text_of(shape_));
  }
}

}  // namespace trireme::kernels::host
