#include "checkpoint/element.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace trireme::checkpoint {
namespace {

double to_double(Bf16 number) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(number.bits) << 16);
}

double to_double(Fp16 number) {
  const int exponent = (number.bits >> 10) & 0x1f;
  const int fraction = number.bits & 0x3ff;
  double size = 0;
  if (exponent == 0x1f) {
    size = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    size = std::ldexp(fraction, -24);
  } else {
    size = std::ldexp(fraction + 0x400, exponent - 25);
  }
  return (number.bits & 0x8000) != 0 ? -size : size;
}

template <class T>
double to_double(T number) {
  return static_cast<double>(number);
}

template <class T>
void convert(const void* data, std::vector<double>& numbers) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (double& number : numbers) {
    T element;
    std::memcpy(&element, at, sizeof element);
    number = to_double(element);
    at += sizeof element;
  }
}

}  // namespace

void to_doubles(Dtype dtype, const void* data, std::int64_t count, std::vector<double>& numbers) {
  numbers.resize(static_cast<std::size_t>(count));
  switch (dtype) {
    case Dtype::f32:
      return convert<float>(data, numbers);
    case Dtype::f64:
      return convert<double>(data, numbers);
    case Dtype::bf16:
      return convert<Bf16>(data, numbers);
    case Dtype::f16:
      return convert<Fp16>(data, numbers);
    case Dtype::i32:
      return convert<std::int32_t>(data, numbers);
    case Dtype::i64:
      return convert<std::int64_t>(data, numbers);
    case Dtype::u8:
      return convert<std::uint8_t>(data, numbers);
    case Dtype::u16:
      return convert<std::uint16_t>(data, numbers);
    case Dtype::u64:
      return convert<std::uint64_t>(data, numbers);
  }
}

std::int64_t count_nonfinite(const std::vector<double>& numbers) {
  return std::count_if(numbers.begin(), numbers.end(), [](double number) { return !std::isfinite(number); });
}

}  // namespace trireme::checkpoint
