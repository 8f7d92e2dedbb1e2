#include "bench/operands.hpp"

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

}  // namespace

tensor::Tensor random_tensor(device::Arena& arena, const tensor::Shape& shape) {
  const auto tensor = tensor::allocate(arena, shape, Dtype::f32, device::MemoryClass::buffers);
  if (arena.measuring()) return tensor;
  Numbers numbers(tensor.size());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.as<float>()[i] = static_cast<float>(static_cast<std::int32_t>(numbers.next())) * 0x1p-31F;
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

}  // namespace trireme::bench
