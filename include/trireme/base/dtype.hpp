// Element types that a tensor can have at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace trireme {

enum class Dtype : std::uint8_t { f32, f64, bf16, f16, i32, i64, u8, u16, u64 };

/// Bytes of one element.
[[nodiscard]] std::size_t size_of(Dtype dtype);

/// The name used in decks, files and messages: `fp32`, `fp64`, `bf16`, `fp16`, `int32`, ...
[[nodiscard]] std::string_view name_of(Dtype dtype);

/// A bfloat16 number: the upper half of a float.
struct Bf16 {
  std::uint16_t bits = 0;
};

/// An IEEE half-precision number.
struct Fp16 {
  std::uint16_t bits = 0;
};

/// The Dtype of a C++ element type; other types do not compile.
template <class T>
inline constexpr Dtype dtype_of = [] {
  static_assert(std::is_same_v<T, float>, "no element type of a tensor");
  return Dtype::f32;
}();
template <>
inline constexpr Dtype dtype_of<double> = Dtype::f64;
template <>
inline constexpr Dtype dtype_of<Bf16> = Dtype::bf16;
template <>
inline constexpr Dtype dtype_of<Fp16> = Dtype::f16;
template <>
inline constexpr Dtype dtype_of<std::int32_t> = Dtype::i32;
template <>
inline constexpr Dtype dtype_of<std::int64_t> = Dtype::i64;
template <>
inline constexpr Dtype dtype_of<std::uint8_t> = Dtype::u8;
template <>
inline constexpr Dtype dtype_of<std::uint16_t> = Dtype::u16;
template <>
inline constexpr Dtype dtype_of<std::uint64_t> = Dtype::u64;

}  // namespace trireme
