#include "trireme/kernels/rotary.hpp"

#include <algorithm>
#include <cmath>

#include "trireme/base/error.hpp"

#include "kernels/element.hpp"
#include "kernels/host/isa_call.hpp"
#include "kernels/host/rotary.isa.hpp"
#include "kernels/portable/rotary.hpp"

// Why there is a host form: ns an element on a Xeon with AMX, one thread, fp32, 12 heads of 64, portable over a Serial
// Kokkos against AVX-512: 3.3 / 0.1.

namespace trireme::kernels {

void rotary_table(double base, const tensor::Tensor& table) {
  const std::int64_t context = table.shape[0];
  const std::int64_t size = table.shape[1];
  const std::int64_t half = size / 2;
  TRIREME_EXPECT(size % 2 == 0);
  auto* values = table.as<float>();
  for (std::int64_t k = 0; k < half; ++k) {
    const double frequency = std::pow(base, -2.0 * static_cast<double>(k) / static_cast<double>(size));
    for (std::int64_t position = 0; position < context; ++position) {
      const double angle = static_cast<double>(position) * frequency;
      values[position * size + k] = static_cast<float>(std::cos(angle));
      values[position * size + half + k] = static_cast<float>(std::sin(angle));
    }
  }
}

void rotary_apply(const device::Device& device, const tensor::Tensor& table, const tensor::Tensor& positions,
                  Rotation rotation, const tensor::Tensor& x) {
  TRIREME_EXPECT(x.shape.num_dims() == 3);
  TRIREME_EXPECT(table.shape[1] == x.shape[2] && x.shape[2] % 2 == 0);
  TRIREME_EXPECT(positions.size() == x.shape[0]);
  if (x.size() == 0) return;
  if (device.space() != device::Space::host) return portable::rotary_apply(table, positions, rotation, x);
  with_element_type(x.dtype, [&](auto element) {
    using T = decltype(element);
    constexpr std::int64_t rows_at_once = 16;
    const std::int64_t rows = x.shape[0];
    const auto rotate = TRIREME_ISA_CALL(device, rotate_rows<T>);
    device.parallel((rows + rows_at_once - 1) / rows_at_once, [&](std::int64_t block, int) {
      rotate(block * rows_at_once, std::min((block + 1) * rows_at_once, rows), x.shape[1], x.shape[2],
             table.as<float>(), positions.as<std::int32_t>(), rotation == Rotation::backward, x.as<T>());
    });
  });
}

}  // namespace trireme::kernels
