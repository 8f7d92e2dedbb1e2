#include "trireme/kernels/gemm.hpp"

#include <cstring>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "trireme/base/error.hpp"

#include "kernels/host/cut_matmul.hpp"
#include "kernels/host/onednn.hpp"

namespace trireme::kernels {

namespace {

// The largest need is that of a bf16 piece of 256 x 768 summed in fp32: 768 KiB.
constexpr std::size_t scratch_bytes = std::size_t{1} << 20U;

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
  Engine(const device::Device& device, device::Arena& arena) : device_(device), engine_(dnnl::engine::kind::cpu, 0) {
    host::limit_onednn(device.isa());
    for (int thread = 0; thread < device.num_threads(); ++thread) {
      scratch_.push_back(arena.allocate(scratch_bytes, device::MemoryClass::buffers));
    }
  }

  void run(Product product, const host::MatmulShape& shape, const void* a, const void* b, const void* bias, void* c) {
    if (shape.m == 0 || shape.n == 0) return;
    if (shape.k == 0) {
      if (!shape.accumulate) std::memset(c, 0, static_cast<std::size_t>(shape.m * shape.n) * size_of(shape.c.dtype));
      return;
    }
    prepared(product, shape).run(device_, a, b, bias, c);
    flop_ += 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  }

  [[nodiscard]] double flop() const noexcept { return flop_; }

 private:
  host::CutMatmul& prepared(Product product, const host::MatmulShape& shape) {
    const auto key = std::make_tuple(product, shape);
    const auto found = products_.find(key);
    if (found != products_.end()) return found->second;
    return products_.try_emplace(key, engine_, product, shape, scratch_, scratch_bytes).first->second;
  }

  const device::Device& device_;
  dnnl::engine engine_;
  std::vector<void*> scratch_;
  std::map<std::tuple<Product, host::MatmulShape>, host::CutMatmul> products_;
  double flop_ = 0;
};

Gemm::Gemm(const device::Device& device, device::Arena& arena) : engine_(std::make_unique<Engine>(device, arena)) {}
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

double Gemm::flop() const noexcept {
  return engine_->flop();
}

}  // namespace trireme::kernels
