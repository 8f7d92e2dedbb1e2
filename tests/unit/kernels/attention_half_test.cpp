// Attention on bf16 and fp16 computes in fp32 and rounds once: it gives the rounded results of fp32 on the same
// numbers.
#include <gtest/gtest.h>

#include "trireme/kernels/cast.hpp"

#include "attention_case.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using tensor::Tensor;
using test::Array;
using test_attention::Attention;
using test_attention::AttentionOf;
using test_attention::Sizes;

/// The two passes, on a device or in the portable form.
struct HostForm {
  const device::Device& device;
  void forward(auto& attention) const { attention.forward(device); }
  void backward(auto& attention, const Tensor& dk, const Tensor& dv) const { attention.backward(device, dk, dv); }
};
struct PortableForm {
  void forward(auto& attention) const { attention.portable_forward(); }
  void backward(auto& attention, const Tensor& dk, const Tensor& dv) const { attention.portable_backward(dk, dv); }
};

/// Rounds an array to halves, and the array itself to the same numbers.
template <class Half>
void round_to(const device::Device& device, Array<float>& full, Array<Half>& half) {
  cast(device, full.tensor(), half.tensor());
  cast(device, half.tensor(), full.tensor());
}

template <class Half>
testing::AssertionResult is_rounded(const device::Device& device, const Array<Half>& half, Array<float>& full) {
  Array<Half> rounded = half;
  cast(device, full.tensor(), rounded.tensor());
  return test::same_bits(half.values(), rounded.values());
}

template <class Half, class Form>
void expect_rounded(const device::Device& device, const Sizes& sizes, const Form& form) {
  SCOPED_TRACE(name_of(sizes));
  Attention full(sizes);
  AttentionOf<Half> half(sizes);
  round_to(device, full.q, half.q);
  round_to(device, full.k, half.k);
  round_to(device, full.v, half.v);
  round_to(device, full.dout, half.dout);
  form.forward(full);
  form.forward(half);
  EXPECT_TRUE(is_rounded(device, half.out, full.out));
  EXPECT_TRUE(test::same_bits(half.log_sum_exp.values(), full.log_sum_exp.values()));

  cast(device, half.out.tensor(), full.out.tensor());  // the backward pass reads what was rounded
  form.backward(full, full.dk.tensor(), full.dv.tensor());
  form.backward(half, half.dk.tensor(), half.dv.tensor());
  EXPECT_TRUE(is_rounded(device, half.dq, full.dq));
  EXPECT_TRUE(is_rounded(device, half.dk, full.dk));
  EXPECT_TRUE(is_rounded(device, half.dv, full.dv));

  Array<float> dk(full.dk.tensor().shape);
  Array<float> dv = dk;
  const Array<Half> dq = half.dq;
  form.backward(half, dk.tensor(), dv.tensor());
  EXPECT_TRUE(test::same_bits(half.dq.values(), dq.values()));
  EXPECT_TRUE(test::same_bits(dk.values(), full.dk.values()));
  EXPECT_TRUE(test::same_bits(dv.values(), full.dv.values()));
}

TEST(AttentionHalves, AreTheRoundedResultsOfFloatsAndKeysGradientsMayStayUnrounded) {
  test::for_each_device([](const device::Device& device) {
    for (const Sizes& sizes : test_attention::all_sizes) {
      expect_rounded<Bf16>(device, sizes, HostForm{device});
      expect_rounded<Fp16>(device, sizes, HostForm{device});
    }
  });
}

TEST(AttentionHalves, AreTheRoundedResultsOfFloatsInThePortableForm) {
  const device::Device device({.num_threads = 1, .isa = device::Isa::generic});  // brings Kokkos up
  for (const Sizes& sizes : test_attention::all_sizes) {
    if (sizes.queries > 100) continue;
    expect_rounded<Bf16>(device, sizes, PortableForm{});
    expect_rounded<Fp16>(device, sizes, PortableForm{});
  }
}

template <class Values>
std::vector<float> floats_of(const device::Device& device, Array<Values>& values) {
  Array<float> floats(values.tensor().shape);
  cast(device, values.tensor(), floats.tensor());
  return floats.values();
}

/// In tile registers the softmax's results are rounded to bf16 before they are multiplied, so results are close to
/// those of fp32, not the rounded ones.
TEST(AttentionHalves, InTileRegistersAreCloseToFloatsAndEqualOnAnyNumberOfThreads) {
  if (device::detect_isa() < device::Isa::amx) GTEST_SKIP() << "this processor has no tile registers";
  for (const Sizes& sizes : test_attention::all_sizes) {
    SCOPED_TRACE(name_of(sizes));
    std::vector<AttentionOf<Bf16>> results;
    for (const int threads : {1, 2, 3}) {
      const device::Device device({.num_threads = threads, .isa = device::Isa::amx});
      Attention full(sizes);
      AttentionOf<Bf16> half(sizes);
      round_to(device, full.q, half.q);
      round_to(device, full.k, half.k);
      round_to(device, full.v, half.v);
      round_to(device, full.dout, half.dout);
      full.run(device);
      half.run(device);
      constexpr double close = 0x1p-6;  // of the largest; each of two factors is rounded to 2^-9, sums cancel
      EXPECT_TRUE(test::all_near(floats_of(device, half.out), full.out.doubles(), close)) << "out";
      EXPECT_TRUE(test::all_near(floats_of(device, half.dq), full.dq.doubles(), close)) << "dq";
      EXPECT_TRUE(test::all_near(floats_of(device, half.dk), full.dk.doubles(), close)) << "dk";
      EXPECT_TRUE(test::all_near(floats_of(device, half.dv), full.dv.doubles(), close)) << "dv";
      EXPECT_TRUE(test::all_near(half.log_sum_exp.values(), full.log_sum_exp.doubles(), 1e-5));
      results.push_back(half);
    }
    for (const AttentionOf<Bf16>& result : results) {
      EXPECT_TRUE(test::same_bits(result.out.values(), results[0].out.values()));
      EXPECT_TRUE(test::same_bits(result.dq.values(), results[0].dq.values()));
      EXPECT_TRUE(test::same_bits(result.dk.values(), results[0].dk.values()));
      EXPECT_TRUE(test::same_bits(result.dv.values(), results[0].dv.values()));
    }
  }
}

}  // namespace
}  // namespace trireme::kernels
