#include "kernels/portable/dropout.hpp"

#include <Kokkos_Core.hpp>

#include "kernels/element.hpp"
#include "kernels/philox.hpp"

namespace trireme::kernels::portable {

namespace {

/// One element of all rows.
template <class T>
struct ResidualAdder {
  Dropout dropout;
  std::int64_t columns;
  const T* residual;  // may be nullptr
  const T* branch;
  T* out;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t row = dropout.first_row + i / columns;
    float x = to_float(branch[i]);
    if (dropout.probability > 0) {
      const std::int64_t element = row % dropout.tokens * columns + i % columns;
      const bool survivor = element_survives(dropout, dropout.first_sequence + row / dropout.tokens, element);
      x = survivor ? x * dropout_scale(dropout.probability) : 0.0F;
    }
    out[i] = from_float<T>(residual != nullptr ? to_float(residual[i]) + x : x);
  }
};

}  // namespace

void residual_add(const Dropout& dropout, const tensor::Tensor& residual, const tensor::Tensor& branch,
                  const tensor::Tensor& out) {
  if (branch.size() == 0) return;
  with_element_type(branch.dtype, [&](auto element) {
    using T = decltype(element);
    const T* base = residual.empty() ? nullptr : residual.as<T>();
    Kokkos::parallel_for("trireme::residual_add", Kokkos::RangePolicy<>(0, branch.size()),
                         ResidualAdder<T>{dropout, branch.shape.columns(), base, branch.as<T>(), out.as<T>()});
  });
}

void dropout_apply(const Dropout& dropout, const tensor::Tensor& x, const tensor::Tensor& y) {
  residual_add(dropout, {}, x, y);
}

}  // namespace trireme::kernels::portable
