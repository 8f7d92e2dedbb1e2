#include "trireme/kernels/norm.hpp"

#include <gtest/gtest.h>

#include "kernels/portable/norm.hpp"
#include "reference/norm.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;

constexpr float epsilon = 1e-5F;
constexpr std::int64_t all_rows[] = {0, 1, 31, 32, 33, 97};
constexpr std::int64_t all_widths[] = {1, 7, 32, 33, 100, 768};

enum class Kind { layer, layer_without_bias, rms };
constexpr Kind all_kinds[] = {Kind::layer, Kind::layer_without_bias, Kind::rms};

// Inputs and outputs of one norm, forward and backward.
struct Norm {
  Norm(Kind the_kind, std::int64_t rows, std::int64_t width, Write the_write)
      : kind(the_kind),
        write(the_write),
        x(numbers.floats({rows, width}, -1, 3)),
        gain(numbers.floats({width})),
        bias(numbers.floats({width})),
        dy(numbers.floats({rows, width})),
        dx(numbers.floats({rows, width})),
        dgain(numbers.floats({width})),
        dbias(numbers.floats({width})),
        y({rows, width}),
        mean({rows}),
        rstd({rows}),
        scratch(numbers.floats({norm_scratch_elements(rows, width)})) {}

  [[nodiscard]] bool centered() const { return kind != Kind::rms; }
  [[nodiscard]] bool has_bias() const { return kind == Kind::layer; }

  void run(const device::Device& device) {
    const tensor::Tensor none;
    if (centered()) {
      layer_norm_forward(device, x.tensor(), gain.tensor(), has_bias() ? bias.tensor() : none, epsilon, y.tensor(),
                         mean.tensor(), rstd.tensor());
      layer_norm_backward(device, dy.tensor(), x.tensor(), gain.tensor(), mean.tensor(), rstd.tensor(), dx.tensor(),
                          write, dgain.tensor(), has_bias() ? dbias.tensor() : none, write, scratch.tensor());
    } else {
      rms_norm_forward(device, x.tensor(), gain.tensor(), epsilon, y.tensor(), rstd.tensor());
      rms_norm_backward(device, dy.tensor(), x.tensor(), gain.tensor(), rstd.tensor(), dx.tensor(), write,
                        dgain.tensor(), write, scratch.tensor());
    }
  }

  void run_portable() {
    const std::int64_t rows = mean.tensor().size();
    const std::int64_t width = gain.tensor().size();
    float* mean_or_null = centered() ? mean.tensor().as<float>() : nullptr;
    portable::norm_forward<float>({.rows = rows,
                                   .width = width,
                                   .x = x.values().data(),
                                   .gain = gain.values().data(),
                                   .bias = has_bias() ? bias.values().data() : nullptr,
                                   .epsilon = epsilon,
                                   .y = y.values().data(),
                                   .mean = mean_or_null,
                                   .rstd = rstd.values().data()});
    portable::norm_backward<float>({.rows = rows,
                                    .width = width,
                                    .dy = dy.values().data(),
                                    .x = x.values().data(),
                                    .gain = gain.values().data(),
                                    .mean = mean_or_null,
                                    .rstd = rstd.values().data(),
                                    .dx = dx.values().data(),
                                    .adds_dx = write == Write::add,
                                    .dgain = dgain.values().data(),
                                    .dbias = has_bias() ? dbias.values().data() : nullptr,
                                    .adds_parameters = write == Write::add,
                                    .scratch = scratch.values().data()});
  }

  test::Numbers numbers{7};
  Kind kind;
  Write write;
  Array<float> x, gain, bias, dy, dx, dgain, dbias, y, mean, rstd, scratch;
};

// What a Norm must hold after a run, computed in double from what it held before.
struct Expected {
  explicit Expected(const Norm& norm) {
    const auto& gain = norm.gain.values();
    const std::size_t width = gain.size();
    const std::size_t rows = norm.mean.values().size();
    const bool adds = norm.write == Write::add;
    if (adds) {
      dgain = norm.dgain.doubles();
      dbias = norm.dbias.doubles();
    } else {
      dgain.resize(width);
      dbias.resize(width);
    }
    for (std::size_t n = 0; n < rows; ++n) {
      const auto begin = static_cast<std::ptrdiff_t>(n * width);
      const auto end = static_cast<std::ptrdiff_t>((n + 1) * width);
      const reference::Row x(norm.x.values().begin() + begin, norm.x.values().begin() + end);
      const reference::Row dy(norm.dy.values().begin() + begin, norm.dy.values().begin() + end);
      const reference::NormalizedRow row = reference::normalize(x, epsilon, norm.centered());
      mean.push_back(row.mean);
      rstd.push_back(row.rstd);
      reference::Row g(width);
      for (std::size_t k = 0; k < width; ++k) {
        y.push_back(row.normalized[k] * gain[k] + (norm.has_bias() ? norm.bias.values()[k] : 0));
        g[k] = dy[k] * gain[k];
        dgain[k] += dy[k] * row.normalized[k];
        dbias[k] += dy[k];
      }
      const reference::Row row_dx = reference::norm_input_gradient(row, g, norm.centered());
      for (std::size_t k = 0; k < width; ++k) {
        dx.push_back(row_dx[k] + (adds ? norm.dx.values()[n * width + k] : 0));
      }
    }
  }

  std::vector<double> y, mean, rstd, dx, dgain, dbias;
};

void expect_near(const Norm& norm, const Expected& expected) {
  const double tolerance = 3e-6;
  EXPECT_TRUE(test::all_near(norm.y.values(), expected.y, tolerance)) << "y";
  EXPECT_TRUE(test::all_near(norm.mean.values(), expected.mean, tolerance)) << "mean";
  EXPECT_TRUE(test::all_near(norm.rstd.values(), expected.rstd, tolerance)) << "rstd";
  // With one column the exact gradient is zero and rstd, the scale of its error, is large.
  EXPECT_TRUE(test::all_near(norm.dx.values(), expected.dx, tolerance, 1)) << "dx";
  EXPECT_TRUE(test::all_near(norm.dgain.values(), expected.dgain, tolerance)) << "dgain";
  if (norm.has_bias()) {
    EXPECT_TRUE(test::all_near(norm.dbias.values(), expected.dbias, tolerance)) << "dbias";
  }
}

template <class Run>
void expect_every_case_near(const Run& run) {
  for (const Kind kind : all_kinds) {
    for (const std::int64_t rows : all_rows) {
      for (const std::int64_t width : all_widths) {
        if (width == 768 && rows != 33) continue;  // the reference takes width^2 operations a row
        for (const Write write : {Write::set, Write::add}) {
          SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", " << rows << " x " << width
                                          << (write == Write::add ? ", added" : ", set"));
          Norm norm(kind, rows, width, write);
          const Expected expected(norm);
          run(norm);
          expect_near(norm, expected);
        }
      }
    }
  }
}

TEST(Norm, MatchesTheDefinitionAtAwkwardSizes) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  expect_every_case_near([&](Norm& norm) { norm.run(device); });
}

TEST(Norm, MatchesTheDefinitionInItsPortableForm) {
  const device::Device device({.num_threads = 1, .isa = device::Isa::generic});  // brings Kokkos up
  expect_every_case_near([](Norm& norm) { norm.run_portable(); });
}

TEST(Norm, GivesTheSameBitsOnEveryDevice) {
  for (const Kind kind : all_kinds) {
    for (const std::int64_t width : all_widths) {
      Norm first(kind, 97, width, Write::add);
      first.run(device::Device({.num_threads = 1, .isa = device::Isa::generic}));
      test::for_each_device([&](const device::Device& device) {
        Norm norm(kind, 97, width, Write::add);
        norm.run(device);
        EXPECT_TRUE(test::same_bits(norm.y.values(), first.y.values()));
        EXPECT_TRUE(test::same_bits(norm.mean.values(), first.mean.values()));
        EXPECT_TRUE(test::same_bits(norm.rstd.values(), first.rstd.values()));
        EXPECT_TRUE(test::same_bits(norm.dx.values(), first.dx.values()));
        EXPECT_TRUE(test::same_bits(norm.dgain.values(), first.dgain.values()));
        EXPECT_TRUE(test::same_bits(norm.dbias.values(), first.dbias.values()));
      });
    }
  }
}

TEST(Norm, OfARowDoesNotDependOnItsPlace) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  for (const std::int64_t width : all_widths) {
    Norm all(Kind::layer, 97, width, Write::set);
    all.run(device);
    for (const std::int64_t row : {0, 1, 40, 96}) {
      Norm alone(Kind::layer, 1, width, Write::set);
      alone.gain = all.gain;
      alone.bias = all.bias;
      const auto copy_row = [&](const Array<float>& from) {
        const auto begin = from.values().begin() + row * width;
        return Array<float>({1, width}, {begin, begin + width});
      };
      alone.x = copy_row(all.x);
      alone.dy = copy_row(all.dy);
      alone.run(device);
      EXPECT_TRUE(test::same_bits(alone.y.values(), copy_row(all.y).values()));
      EXPECT_TRUE(test::same_bits(alone.dx.values(), copy_row(all.dx).values()));
    }
  }
}

TEST(Norm, AddsBlocksOf32RowsInABalancedTree) {
  // In fp32, 2^24 + 1 is 2^24: the sum tells in which order its terms were added.
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  const std::int64_t rows = 32 * 4;
  Norm norm(Kind::layer, rows, 3, Write::set);
  const float block_values[] = {0x1p24F, 1, 1, 1};
  for (std::int64_t n = 0; n < rows; ++n) {
    for (std::int64_t k = 0; k < 3; ++k) {
      norm.dy.values()[static_cast<std::size_t>(n * 3 + k)] = n % 32 == 0 ? block_values[n / 32] : 0;
    }
  }
  norm.run(device);
  // (2^24 + 1) + (1 + 1), where row after row would give 2^24.
  for (const float sum : norm.dbias.values()) EXPECT_EQ(sum, 0x1p24F + 2);
}

TEST(Norm, GradientMatchesFiniteDifferences) {
  const device::Device device({.num_threads = 1, .isa = device::detect_isa()});
  for (const Kind kind : all_kinds) {
    Norm norm(kind, 3, 7, Write::set);
    const auto loss = [&](const Norm& at) {
      double sum = 0;
      const std::vector<double> y = Expected(at).y;
      for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * at.dy.values()[i];
      return sum;
    };
    norm.run(device);
    const float step = 0x1p-7F;
    std::vector<double> differences;
    for (float& value : norm.x.values()) {
      const float before = value;
      value = before + step;
      const double above = loss(norm);
      value = before - step;
      const double below = loss(norm);
      value = before;
      differences.push_back((above - below) / (2 * static_cast<double>(step)));
    }
    EXPECT_TRUE(test::all_near(norm.dx.values(), differences, 1e-3));
  }
}

}  // namespace
}  // namespace trireme::kernels
