#include "kernels/host/accumulation.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "trireme/base/error.hpp"

namespace trireme::kernels::host {

namespace {

/// Numbers of magnitudes from 2^-7 to 2, by their bits: a sign, an exponent of `bias` or up to seven less, a mantissa.
template <class Bits, int mantissa_bits, unsigned bias>
std::array<Bits, 1021> numbers() {
  std::array<Bits, 1021> values{};
  std::uint64_t state = 1;
  for (Bits& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto random = static_cast<std::uint32_t>(state >> 32U);
    const std::uint32_t sign = (random >> 31U) << (8 * sizeof(Bits) - 1);
    const std::uint32_t exponent = (bias - ((random >> 28U) & 7U)) << static_cast<unsigned>(mantissa_bits);
    value = static_cast<Bits>(sign | exponent | (random & ((1U << static_cast<unsigned>(mantissa_bits)) - 1U)));
  }
  return values;
}

/// A matrix whose memory between its lines is never touched, so that a wide matrix of few columns costs little.
class Operand {
 public:
  Operand(std::int64_t rows, std::int64_t columns, const Layout& layout)
      : by_rows_(layout.column_stride == 1),
        lines_(by_rows_ ? rows : columns),
        length_(by_rows_ ? columns : rows),
        stride_(by_rows_ ? layout.row_stride : layout.column_stride),
        element_bytes_(size_of(layout.dtype)),
        memory_(new std::byte[bytes(lines_ * stride_ + length_) + alignment]) {
    void* start = memory_.get();
    std::size_t space = bytes(lines_ * stride_ + length_) + alignment;
    data_ = static_cast<std::byte*>(std::align(alignment, bytes(length_), start, space));
    if (layout.dtype == Dtype::f32) {
      fill(numbers<std::uint32_t, 23, 127>());
    } else {
      TRIREME_EXPECT(layout.dtype == Dtype::bf16);
      fill(numbers<std::uint16_t, 7, 127>());
    }
  }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::span<float> line(std::int64_t index) const {
    return {reinterpret_cast<float*>(data_ + bytes(index * stride_)), static_cast<std::size_t>(length_)};
  }

 private:
  static constexpr std::size_t alignment = 64;

  [[nodiscard]] std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * element_bytes_;
  }
  template <class Bits, std::size_t size>
  void fill(const std::array<Bits, size>& values) {
    std::size_t next = 0;
    for (std::int64_t line = 0; line < lines_; ++line) {
      auto* target = reinterpret_cast<Bits*>(data_ + bytes(line * stride_));
      for (std::int64_t i = 0; i < length_; ++i) {
        target[i] = values[next];
        if (++next == size) next = 0;
      }
    }
  }

  bool by_rows_;
  std::int64_t lines_;
  std::int64_t length_;
  std::int64_t stride_;
  std::size_t element_bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* data_ = nullptr;
};

}  // namespace

bool adds_at_the_end(const dnnl::engine& engine, const MatmulShape& shape, void* scratch, std::size_t scratch_bytes) {
  TRIREME_EXPECT(shape.accumulate && shape.c.dtype == Dtype::f32);
  const Operand a(shape.m, shape.k, shape.a);
  const Operand b(shape.k, shape.n, shape.b);
  const Operand bias(1, shape.n, {.row_stride = shape.n});
  const Operand added(shape.m, shape.n, shape.c);
  const Operand before(shape.m, shape.n, shape.c);
  const Operand partial(shape.m, shape.n, shape.c);
  MatmulShape setting = shape;
  setting.accumulate = false;
  Matmul(engine, shape, {&scratch, 1}, scratch_bytes).run(0, a.data(), b.data(), bias.data(), added.data());
  Matmul(engine, setting, {&scratch, 1}, scratch_bytes).run(0, a.data(), b.data(), bias.data(), partial.data());
  for (std::int64_t i = 0; i < shape.m; ++i) {
    const std::span row = partial.line(i);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] += before.line(i)[j];
    if (std::memcmp(row.data(), added.line(i).data(), row.size_bytes()) != 0) return false;
  }
  return true;
}

}  // namespace trireme::kernels::host
