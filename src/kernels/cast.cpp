#include "trireme/kernels/cast.hpp"

#include "trireme/base/error.hpp"

#include "kernels/chunks.hpp"
#include "kernels/element.hpp"
#include "kernels/host/cast.isa.hpp"
#include "kernels/host/isa_call.hpp"
#include "kernels/portable/cast.hpp"

// Why there is a host form: ns an element on a Xeon with AMX, one thread, fp32 to bf16 in cache, portable over a Serial
// Kokkos against AVX-512: 0.24 / 0.12.

namespace trireme::kernels {

namespace {

template <class Source, class Target>
void cast_on_host(const device::Device& device, std::int64_t size, const Source* source, Target* target) {
  const auto convert = TRIREME_ISA_CALL(device, convert<Source, Target>);
  for_chunks(device, size,
             [&](std::int64_t begin, std::int64_t count) { convert(count, source + begin, target + begin); });
}

}  // namespace

void cast(const device::Device& device, const tensor::Tensor& source, const tensor::Tensor& target) {
  TRIREME_EXPECT(source.size() == target.size());
  if (device.space() != device::Space::host) return portable::cast(source, target);
  with_element_type(source.dtype, [&](auto source_element) {
    with_element_type(target.dtype, [&](auto target_element) {
      using Source = decltype(source_element);
      using Target = decltype(target_element);
      cast_on_host(device, source.size(), static_cast<const Source*>(source.as<Source>()), target.as<Target>());
    });
  });
}

}  // namespace trireme::kernels
