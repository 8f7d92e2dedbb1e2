#include "trireme/kernels/gemm.hpp"

#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "trireme/base/error.hpp"

#include "kernels/host/cut_matmul.hpp"
#include "kernels/host/gemm_scratch.hpp"
#include "kernels/host/onednn.hpp"
#include "kernels/host/tile_product.hpp"

namespace trireme::kernels {

namespace {

host::Layout row_major(const tensor::Tensor& matrix) {
  return {.dtype = matrix.dtype, .row_stride = matrix.shape.columns(), .column_stride = 1};
}

host::Layout transposed(const tensor::Tensor& matrix) {
  return {.dtype = matrix.dtype, .row_stride = 1, .column_stride = matrix.shape.columns()};
}

}  // namespace

/// Scratch, and the products met so far.
class Gemm::Engine {
 public:
  Engine(const device::Device& device, device::Arena& arena, Dtype compute)
      : device_(device), scratch_(device, arena, compute), engine_(dnnl::engine::kind::cpu, 0) {
    host::limit_onednn(device.isa());
  }

  void run(Product product, const host::MatmulShape& shape, const void* a, const void* b, const void* bias, void* c) {
    if (shape.m == 0 || shape.n == 0) return;
    if (shape.k == 0) {
      if (!shape.accumulate) std::memset(c, 0, static_cast<std::size_t>(shape.m * shape.n) * size_of(shape.c.dtype));
      return;
    }
    if (host::multiplies_in_tiles(device_.isa(), shape.a.dtype)) {
      host::multiply_in_tiles(device_, shape, scratch_, a, b, bias, c);
    } else {
      prepared(product, shape).run(a, b, bias, c);
    }
    flop_ += 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
    if (between_) between_();
  }

  void call_between(std::function<void()> between) { between_ = std::move(between); }
  [[nodiscard]] double flop() const noexcept { return flop_; }

 private:
  host::CutMatmul& prepared(Product product, const host::MatmulShape& shape) {
    const auto key = std::make_tuple(product, shape);
    const auto found = products_.find(key);
    if (found != products_.end()) return found->second;
    return products_.try_emplace(key, device_, engine_, product, shape, scratch_).first->second;
  }

  const device::Device& device_;
  host::GemmScratch scratch_;
  dnnl::engine engine_;
  std::map<std::tuple<Product, host::MatmulShape>, host::CutMatmul> products_;
  std::function<void()> between_;
  double flop_ = 0;
};

Gemm::Gemm(const device::Device& device, device::Arena& arena, Dtype compute)
    : engine_(std::make_unique<Engine>(device, arena, compute)) {}
Gemm::~Gemm() = default;

void Gemm::forward(const tensor::Tensor& x, const tensor::Tensor& weight, const tensor::Tensor& bias,
                   const tensor::Tensor& y, Write write) {
  const std::int64_t in = weight.shape.columns();
  const std::int64_t out = weight.shape.rows();
  TRIREME_EXPECT(x.shape.columns() == in && y.shape.columns() >= out && x.shape.rows() == y.shape.rows());
  TRIREME_EXPECT(bias.empty() || (bias.size() == out && bias.dtype == Dtype::f32));
  engine_->run(Product::forward,
               {.m = x.shape.rows(),
                .n = out,
                .k = in,
                .a = row_major(x),
                .b = transposed(weight),
                .c = row_major(y),
                .bias = !bias.empty(),
                .accumulate = write == Write::add},
               x.data, weight.data, bias.data, y.data);
}

void Gemm::backward_input(const tensor::Tensor& dy, const tensor::Tensor& weight, const tensor::Tensor& dx,
                          Write write) {
  const std::int64_t in = weight.shape.columns();
  const std::int64_t out = weight.shape.rows();
  TRIREME_EXPECT(dx.shape.columns() == in && dy.shape.columns() >= out && dx.shape.rows() == dy.shape.rows());
  engine_->run(Product::backward_input,
               {.m = dx.shape.rows(),
                .n = in,
                .k = out,
                .a = row_major(dy),
                .b = row_major(weight),
                .c = row_major(dx),
                .accumulate = write == Write::add},
               dy.data, weight.data, nullptr, dx.data);
}

void Gemm::backward_weight(const tensor::Tensor& dy, const tensor::Tensor& x, const tensor::Tensor& dweight,
                           Write write) {
  const std::int64_t in = dweight.shape.columns();
  const std::int64_t out = dweight.shape.rows();
  TRIREME_EXPECT(x.shape.columns() == in && dy.shape.columns() >= out && x.shape.rows() == dy.shape.rows());
  TRIREME_EXPECT(dweight.dtype == Dtype::f32);
  engine_->run(Product::backward_weight,
               {.m = out,
                .n = in,
                .k = x.shape.rows(),
                .a = transposed(dy),
                .b = row_major(x),
                .c = row_major(dweight),
                .accumulate = write == Write::add},
               dy.data, x.data, nullptr, dweight.data);
}

void Gemm::call_between(std::function<void()> between) {
  engine_->call_between(std::move(between));
}

double Gemm::flop() const noexcept {
  return engine_->flop();
}

}  // namespace trireme::kernels
