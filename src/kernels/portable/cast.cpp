#include "kernels/portable/cast.hpp"

#include <Kokkos_Core.hpp>

#include "kernels/element.hpp"

namespace trireme::kernels::portable {

namespace {

template <class Source, class Target>
struct Converter {
  const Source* source;
  Target* target;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const { target[i] = from_float<Target>(to_float(source[i])); }
};

}  // namespace

void cast(const tensor::Tensor& source, const tensor::Tensor& target) {
  with_element_type(source.dtype, [&](auto source_element) {
    with_element_type(target.dtype, [&](auto target_element) {
      using Source = decltype(source_element);
      using Target = decltype(target_element);
      Kokkos::parallel_for("trireme::cast", Kokkos::RangePolicy<>(0, source.size()),
                           Converter<Source, Target>{source.as<Source>(), target.as<Target>()});
    });
  });
}

}  // namespace trireme::kernels::portable
