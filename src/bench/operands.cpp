#include "bench/operands.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme::bench {

namespace {

/// A linear congruential generator (Knuth's constants): good enough to be no zeros.
class Numbers {
 public:
  explicit Numbers(std::int64_t count) : state_(static_cast<std::uint64_t>(count)) {}
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state_ >> 32U);
  }

 private:
  std::uint64_t state_;
};

constexpr std::uint32_t sign_bit = 0x8000;

/// The bits of a half-precision number of random sign and fraction, the size in [1/2, 1).
std::uint16_t half_bits(std::uint32_t random, Dtype dtype) {
  const bool bf16 = dtype == Dtype::bf16;
  const std::uint32_t half = bf16 ? 0x3F00 : 0x3800;
  const std::uint32_t fraction = bf16 ? 0x007F : 0x03FF;
  return static_cast<std::uint16_t>(half | (random & (sign_bit | fraction)));
}

}  // namespace

tensor::Tensor random_tensor(device::Arena& arena, const tensor::Shape& shape, Dtype dtype) {
  TRIREME_EXPECT(dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16);
  const auto tensor = tensor::allocate(arena, shape, dtype, device::MemoryClass::buffers);
  if (arena.measuring()) return tensor;
  Numbers numbers(tensor.size());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    if (dtype == Dtype::f32) {
      tensor.as<float>()[i] = static_cast<float>(static_cast<std::int32_t>(numbers.next())) * 0x1p-31F;
    } else {
      static_cast<std::uint16_t*>(tensor.data)[i] = half_bits(numbers.next(), dtype);
    }
  }
  return tensor;
}

tensor::Tensor random_ids(device::Arena& arena, std::int64_t count, std::int32_t bound) {
  const auto tensor = tensor::allocate(arena, {count}, Dtype::i32, device::MemoryClass::buffers);
  if (arena.measuring()) return tensor;
  Numbers numbers(count);
  for (std::int64_t i = 0; i < count; ++i) {
    tensor.as<std::int32_t>()[i] = static_cast<std::int32_t>(numbers.next() % static_cast<std::uint32_t>(bound));
  }
  return tensor;
}

std::vector<std::byte> random_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  Numbers numbers(static_cast<std::int64_t>(count));
  std::generate(bytes.begin(), bytes.end(), [&numbers] { return static_cast<std::byte>(numbers.next()); });
  return bytes;
}

}  // namespace trireme::bench
