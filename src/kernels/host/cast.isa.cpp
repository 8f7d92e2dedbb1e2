#include "kernels/host/cast.isa.hpp"

#include "trireme/base/dtype.hpp"

#include "kernels/host/columns.hpp"

namespace trireme::kernels::host::TRIREME_ISA {

template <class Source, class Target>
void convert(std::int64_t count, const Source* source, Target* target) {
  for_columns(count, [&](auto lanes, std::int64_t i) { lanes.store(target + i, lanes.load(source + i)); });
}

template void convert(std::int64_t, const float*, float*);
template void convert(std::int64_t, const float*, Bf16*);
template void convert(std::int64_t, const float*, Fp16*);
template void convert(std::int64_t, const Bf16*, float*);
template void convert(std::int64_t, const Bf16*, Bf16*);
template void convert(std::int64_t, const Bf16*, Fp16*);
template void convert(std::int64_t, const Fp16*, float*);
template void convert(std::int64_t, const Fp16*, Bf16*);
template void convert(std::int64_t, const Fp16*, Fp16*);

}  // namespace trireme::kernels::host::TRIREME_ISA
