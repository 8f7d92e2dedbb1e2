#include "kernels/host/dropout.isa.hpp"

#include "kernels/host/columns.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

namespace {

constexpr std::int64_t group = 4 * num_lanes;  // elements of one call of philox_words()

// Dropped lanes are zero even where the branch is infinite.
TRIREME_INLINE F32x16 survivors(const DropoutStream& stream, U32x16 words, F32x16 x) {
  const U32x16 flip = broadcast(0x80000000U);  // unsigned comparison by a signed one
  return select(less_signed(words ^ flip, broadcast(stream.threshold) ^ flip), zero(), x * broadcast(stream.scale));
}

// Elements [first, first + count), all of one group, which they may begin in the middle of.
template <bool with_residual, class T>
void add_in_group(const DropoutStream& stream, std::int64_t first, std::int64_t count, const T* residual,
                  const T* branch, T* out) {
  const std::int64_t skipped = first % group;
  const PhiloxWords random = philox_words(stream, first - skipped);
  alignas(64) std::uint32_t words[group + num_lanes] = {};  // a vector may be read from every element on
  for (int k = 0; k < 4; ++k) store(words + k * num_lanes, random.words[k]);
  for_columns(count, [&](auto lanes, std::int64_t i) {
    const F32x16 kept = survivors(stream, load(words + skipped + i), lanes.load(branch + i));
    lanes.store(out + i, with_residual ? lanes.load(residual + i) + kept : kept);
  });
}

template <bool with_residual, class T>
void add_survivors(const DropoutStream& stream, std::int64_t first, std::int64_t count, const T* residual,
                   const T* branch, T* out) {
  std::int64_t begin = 0;
  if (first % group != 0) {
    begin = group - first % group < count ? group - first % group : count;
    add_in_group<with_residual>(stream, first, begin, residual, branch, out);
  }
  for (; begin < count; begin += group) {
    const PhiloxWords random = philox_words(stream, first + begin);
    const std::int64_t width = count - begin < group ? count - begin : group;
    for_columns(width, [&](auto lanes, std::int64_t column) {
      const std::int64_t i = begin + column;
      const F32x16 kept = survivors(stream, random.words[column / num_lanes], lanes.load(branch + i));
      lanes.store(out + i, with_residual ? lanes.load(residual + i) + kept : kept);
    });
  }
}

}  // namespace

template <class T>
void residual_add(const DropoutStream* stream, std::int64_t first, std::int64_t count, const T* residual,
                  const T* branch, T* out) {
  if (stream == nullptr) {
    for_columns(count, [&](auto lanes, std::int64_t i) {
      const F32x16 added = lanes.load(branch + i);
      lanes.store(out + i, residual != nullptr ? lanes.load(residual + i) + added : added);
    });
  } else if (residual != nullptr) {
    add_survivors<true>(*stream, first, count, residual, branch, out);
  } else {
    add_survivors<false>(*stream, first, count, residual, branch, out);
  }
}

template void residual_add(const DropoutStream*, std::int64_t, std::int64_t, const float*, const float*, float*);
template void residual_add(const DropoutStream*, std::int64_t, std::int64_t, const Bf16*, const Bf16*, Bf16*);
template void residual_add(const DropoutStream*, std::int64_t, std::int64_t, const Fp16*, const Fp16*, Fp16*);

}  // namespace trireme::kernels::host::TRIREME_ISA
