#include "trireme/kernels/activation.hpp"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "kernels/portable/activation.hpp"
#include "reference/activation.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;

constexpr std::int64_t all_sizes[] = {0, 1, 7, 15, 16, 17, 33, 100, 768, 8191, 8193, 40000};

double reference_gelu(Gelu kind, double x) {
  return kind == Gelu::exact ? reference::gelu_exact(x) : reference::gelu_tanh(x);
}

// The four functions on some device, or in their portable form.
struct Forms {
  std::function<void(Gelu, const tensor::Tensor&, const tensor::Tensor&)> gelu_forward;
  std::function<void(Gelu, const tensor::Tensor&, const tensor::Tensor&, const tensor::Tensor&)> gelu_backward;
  std::function<void(const tensor::Tensor&, const tensor::Tensor&, const tensor::Tensor&)> swiglu_forward;
  std::function<void(const tensor::Tensor&, const tensor::Tensor&, const tensor::Tensor&, const tensor::Tensor&,
                     const tensor::Tensor&)>
      swiglu_backward;
};

Forms forms_of(const device::Device& device) {
  return {[&](auto... arguments) { gelu_forward(device, arguments...); },
          [&](auto... arguments) { gelu_backward(device, arguments...); },
          [&](auto... arguments) { swiglu_forward(device, arguments...); },
          [&](auto... arguments) { swiglu_backward(device, arguments...); }};
}

Forms portable_forms() {
  return {portable::gelu_forward, portable::gelu_backward, portable::swiglu_forward, portable::swiglu_backward};
}

void expect_gelu_near(const Forms& forms, Gelu kind, std::int64_t size) {
  test::Numbers numbers(static_cast<std::uint64_t>(size));
  Array<float> x = numbers.floats({size}, -7, 7);
  Array<float> dy = numbers.floats({size});
  Array<float> y({size});
  Array<float> dx({size});
  std::vector<double> expected_y;
  std::vector<double> expected_dx;
  for (std::size_t i = 0; i < x.values().size(); ++i) {
    expected_y.push_back(reference_gelu(kind, x.values()[i]));
    expected_dx.push_back(dy.values()[i] *
                          reference::derivative([&](double at) { return reference_gelu(kind, at); }, x.values()[i]));
  }
  forms.gelu_forward(kind, x.tensor(), y.tensor());
  EXPECT_TRUE(test::all_near(y.values(), expected_y, 1e-6));
  forms.gelu_backward(kind, dy.tensor(), x.tensor(), dx.tensor());
  EXPECT_TRUE(test::all_near(dx.values(), expected_dx, 1e-6));
  forms.gelu_backward(kind, dy.tensor(), x.tensor(), dy.tensor());
  EXPECT_TRUE(test::same_bits(dy.values(), dx.values())) << "in place";
}

void expect_swiglu_near(const Forms& forms, std::int64_t size) {
  test::Numbers numbers(static_cast<std::uint64_t>(size));
  Array<float> gate = numbers.floats({size}, -9, 9);
  Array<float> up = numbers.floats({size});
  Array<float> dy = numbers.floats({size});
  Array<float> y({size});
  Array<float> dgate({size});
  Array<float> dup({size});
  std::vector<double> expected_y;
  std::vector<double> expected_dgate;
  std::vector<double> expected_dup;
  for (std::size_t i = 0; i < gate.values().size(); ++i) {
    const double z = gate.values()[i];
    const double g = dy.values()[i];
    expected_y.push_back(reference::silu(z) * up.values()[i]);
    expected_dgate.push_back(g * up.values()[i] * reference::derivative(reference::silu, z));
    expected_dup.push_back(g * reference::silu(z));
  }
  forms.swiglu_forward(gate.tensor(), up.tensor(), y.tensor());
  EXPECT_TRUE(test::all_near(y.values(), expected_y, 1e-6));
  forms.swiglu_backward(dy.tensor(), gate.tensor(), up.tensor(), dgate.tensor(), dup.tensor());
  EXPECT_TRUE(test::all_near(dgate.values(), expected_dgate, 1e-6));
  EXPECT_TRUE(test::all_near(dup.values(), expected_dup, 1e-6));
  forms.swiglu_backward(dy.tensor(), gate.tensor(), up.tensor(), dy.tensor(), dup.tensor());
  EXPECT_TRUE(test::same_bits(dy.values(), dgate.values())) << "in place";
}

TEST(Activation, MatchesTheDefinitionAndItsDerivativeAtAwkwardSizes) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  for (const Forms& forms : {forms_of(device), portable_forms()}) {
    for (const std::int64_t size : all_sizes) {
      SCOPED_TRACE(size);
      expect_gelu_near(forms, Gelu::exact, size);
      expect_gelu_near(forms, Gelu::tanh, size);
      expect_swiglu_near(forms, size);
    }
  }
}

TEST(Activation, StaysFiniteFarOutAndKeepsNaN) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Forms& forms : {forms_of(device), portable_forms()}) {
    for (const Gelu kind : {Gelu::exact, Gelu::tanh}) {
      Array<float> x({7}, {-1e4F, -100, -30, 0, 30, 100, 1e4F});
      Array<float> ones({7}, std::vector<float>(7, 1));
      Array<float> y({7});
      forms.gelu_forward(kind, x.tensor(), y.tensor());
      EXPECT_TRUE(test::all_near(y.values(), {0, 0, 0, 0, 30, 100, 1e4}, 1e-7));
      forms.gelu_backward(kind, ones.tensor(), x.tensor(), y.tensor());
      EXPECT_TRUE(test::all_near(y.values(), {0, 0, 0, 0.5, 1, 1, 1}, 1e-7));
      x.values() = std::vector<float>(7, nan);
      forms.gelu_forward(kind, x.tensor(), y.tensor());
      for (const float value : y.values()) EXPECT_TRUE(std::isnan(value));
      forms.gelu_backward(kind, ones.tensor(), x.tensor(), y.tensor());
      for (const float value : y.values()) EXPECT_TRUE(std::isnan(value));
    }
    Array<float> gate({3}, {-1e4F, nan, 1e4F});
    Array<float> ones({3}, {1, 1, 1});
    Array<float> dgate({3});
    Array<float> dup({3});
    forms.swiglu_backward(ones.tensor(), gate.tensor(), ones.tensor(), dgate.tensor(), dup.tensor());
    EXPECT_NEAR(dgate.values()[0], 0, 1e-30);
    EXPECT_NEAR(dup.values()[0], 0, 1e-30);
    EXPECT_TRUE(std::isnan(dgate.values()[1]) && std::isnan(dup.values()[1]));
    EXPECT_EQ(dgate.values()[2], 1);
    EXPECT_EQ(dup.values()[2], 1e4F);
  }
}

TEST(Activation, GivesTheSameBitsOnEveryDeviceAndInEveryPlace) {
  constexpr std::int64_t size = 20011;
  test::Numbers numbers(3);
  Array<float> x = numbers.floats({size}, -6, 6);
  Array<float> up = numbers.floats({size});
  Array<float> dy = numbers.floats({size});
  const auto run = [&](const device::Device& device, std::int64_t begin, std::int64_t count) {
    std::vector<std::vector<float>> results;
    const tensor::Tensor part_x = x.tensor().rows(begin, count);
    const tensor::Tensor part_up = up.tensor().rows(begin, count);
    const tensor::Tensor part_dy = dy.tensor().rows(begin, count);
    Array<float> y({count});
    Array<float> z({count});
    for (const Gelu kind : {Gelu::exact, Gelu::tanh}) {
      gelu_forward(device, kind, part_x, y.tensor());
      results.push_back(y.values());
      gelu_backward(device, kind, part_dy, part_x, y.tensor());
      results.push_back(y.values());
    }
    swiglu_forward(device, part_x, part_up, y.tensor());
    results.push_back(y.values());
    swiglu_backward(device, part_dy, part_x, part_up, y.tensor(), z.tensor());
    results.push_back(y.values());
    results.push_back(z.values());
    return results;
  };
  const auto first = run(device::Device({.num_threads = 1, .isa = device::Isa::generic}), 0, size);
  test::for_each_device([&](const device::Device& device) {
    const auto all = run(device, 0, size);
    const auto part = run(device, 1003, 13);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(test::same_bits(all[i], first[i])) << "result " << i;
      EXPECT_TRUE(test::same_bits(part[i], {first[i].begin() + 1003, first[i].begin() + 1016})) << "result " << i;
    }
  });
}

}  // namespace
}  // namespace trireme::kernels
