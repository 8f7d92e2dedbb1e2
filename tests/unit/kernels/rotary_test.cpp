#include "trireme/kernels/rotary.hpp"

#include <gtest/gtest.h>

#include "kernels/portable/rotary.hpp"
#include "reference/rotary.hpp"
#include "support/array.hpp"
#include "support/compare.hpp"

namespace trireme::kernels {
namespace {

using test::Array;

constexpr double base = 10000;
constexpr std::int64_t context = 50;

struct Rotated {
  Rotated(std::int64_t rows, std::int64_t heads, std::int64_t size)
      : positions(numbers.integers({rows}, 0, context)),
        x(numbers.floats({rows, heads, size})),
        table({context, size}) {
    rotary_table(base, table.tensor());
    const auto& all = x.values();
    before.assign(all.begin(), all.end());
  }

  [[nodiscard]] std::vector<double> expected(int direction) const {
    std::vector<double> result;
    const std::size_t size = table.values().size() / context;
    const std::size_t heads = positions.values().empty() ? 0 : before.size() / size / positions.values().size();
    for (std::size_t i = 0; i < before.size() / size; ++i) {
      const auto begin = before.begin() + static_cast<std::ptrdiff_t>(i * size);
      const std::vector<double> head(begin, begin + static_cast<std::ptrdiff_t>(size));
      const std::vector<double> turned = reference::rotate(head, positions.values()[i / heads], base, direction);
      result.insert(result.end(), turned.begin(), turned.end());
    }
    return result;
  }

  test::Numbers numbers{5};
  Array<std::int32_t> positions;
  Array<float> x;
  Array<float> table;
  std::vector<double> before;
};

TEST(Rotary, TurnsPairsByTheAngleOfTheirPosition) {
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  for (const std::int64_t rows : {0, 1, 15, 33}) {
    for (const std::int64_t heads : {1, 3}) {
      for (const std::int64_t size : {2, 6, 32, 34, 64, 100}) {
        for (const int direction : {1, -1}) {
          SCOPED_TRACE(testing::Message() << rows << " x " << heads << " x " << size);
          const Rotation rotation = direction > 0 ? Rotation::forward : Rotation::backward;
          Rotated host(rows, heads, size);
          rotary_apply(device, host.table.tensor(), host.positions.tensor(), rotation, host.x.tensor());
          EXPECT_TRUE(test::all_near(host.x.values(), host.expected(direction), 1e-6));
          Rotated portable_form(rows, heads, size);
          portable::rotary_apply(portable_form.table.tensor(), portable_form.positions.tensor(), rotation,
                                 portable_form.x.tensor());
          EXPECT_TRUE(test::all_near(portable_form.x.values(), host.expected(direction), 1e-6));
        }
      }
    }
  }
}

TEST(Rotary, BackwardIsTheTransposeOfForward) {
  // A rotation's transpose is its inverse.
  const device::Device device({.num_threads = 2, .isa = device::detect_isa()});
  Rotated turned(33, 3, 34);
  rotary_apply(device, turned.table.tensor(), turned.positions.tensor(), Rotation::forward, turned.x.tensor());
  rotary_apply(device, turned.table.tensor(), turned.positions.tensor(), Rotation::backward, turned.x.tensor());
  EXPECT_TRUE(test::all_near(turned.x.values(), turned.before, 1e-6));
}

TEST(Rotary, GivesTheSameBitsOnEveryDevice) {
  for (const std::int64_t size : {6, 34, 64}) {
    Rotated first(33, 3, size);
    rotary_apply(device::Device({.num_threads = 1, .isa = device::Isa::generic}), first.table.tensor(),
                 first.positions.tensor(), Rotation::forward, first.x.tensor());
    test::for_each_device([&](const device::Device& device) {
      Rotated other(33, 3, size);
      rotary_apply(device, other.table.tensor(), other.positions.tensor(), Rotation::forward, other.x.tensor());
      EXPECT_TRUE(test::same_bits(other.x.values(), first.x.values()));
    });
  }
}

}  // namespace
}  // namespace trireme::kernels
