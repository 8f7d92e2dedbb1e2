#include "kernels/portable/dropout.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/kernels/random.hpp"

#include "kernels/chunks.hpp"
#include "kernels/element.hpp"
#include "kernels/host/dropout.isa.hpp"
#include "kernels/host/dropout_stream.hpp"
#include "kernels/host/isa_call.hpp"
#include "kernels/philox.hpp"

// Why there is a host form: ns an element on a Xeon with AMX, one thread, fp32 in cache, portable over a Serial Kokkos
// against AVX-512: residual_add 0.7 / 0.14, with dropout 14 / 0.7.

namespace trireme::kernels {

namespace {

// Of a sequence: the counter has 32 bits and those beside the site for blocks of four.
constexpr std::int64_t max_elements = std::int64_t{4} << (64 - dropout_site_bits);
static_assert(max_elements == max_dropout_elements);
static_assert(std::int64_t{1} << dropout_site_bits == max_dropout_sites);

template <class T>
struct Rows {
  const T* residual;  // may be nullptr
  const T* branch;
  T* out;
  [[nodiscard]] Rows from(std::int64_t element) const {
    return {residual != nullptr ? residual + element : nullptr, branch + element, out + element};
  }
};

template <class T>
void add_on_host(const device::Device& device, const Dropout& dropout, const tensor::Shape& shape,
                 const Rows<T>& rows) {
  const auto add = TRIREME_ISA_CALL(device, residual_add<T>);
  const std::int64_t per_sequence = dropout.tokens * shape.columns();
  const std::int64_t before = dropout.first_row * shape.columns();  // elements of the micro-batch before these rows
  for_chunks(device, shape.size(), [&](std::int64_t begin, std::int64_t count) {
    if (dropout.probability == 0) {
      const Rows<T> at = rows.from(begin);
      return add(nullptr, 0, count, at.residual, at.branch, at.out);
    }
    // A run of every sequence that the chunk touches.
    for (const std::int64_t end = begin + count; begin < end;) {
      const std::int64_t sequence = (before + begin) / per_sequence;
      const std::int64_t first = (before + begin) % per_sequence;
      const std::int64_t length = std::min(end - begin, per_sequence - first);
      const host::DropoutStream stream = host::dropout_stream(dropout, sequence);
      const Rows<T> at = rows.from(begin);
      add(&stream, first, length, at.residual, at.branch, at.out);
      begin += length;
    }
  });
}

void check([[maybe_unused]] const Dropout& dropout, [[maybe_unused]] const tensor::Tensor& branch,
           [[maybe_unused]] const tensor::Tensor& out) {
  TRIREME_EXPECT(branch.size() == out.size());
  TRIREME_EXPECT(dropout.probability >= 0 && dropout.probability < 1);
  TRIREME_EXPECT(dropout.tokens > 0 && dropout.first_row >= 0);
  TRIREME_EXPECT(dropout.tokens * branch.shape.columns() <= max_elements);
}

}  // namespace

bool survives(const Dropout& dropout, std::int64_t sequence, std::int64_t element) {
  return element_survives(dropout, sequence, element);
}

void residual_add(const device::Device& device, const Dropout& dropout, const tensor::Tensor& residual,
                  const tensor::Tensor& branch, const tensor::Tensor& out) {
  check(dropout, branch, out);
  TRIREME_EXPECT(residual.size() == branch.size());
  if (device.space() != device::Space::host) return portable::residual_add(dropout, residual, branch, out);
  with_element_type(branch.dtype, [&](auto element) {
    using T = decltype(element);
    add_on_host<T>(device, dropout, branch.shape, {residual.as<T>(), branch.as<T>(), out.as<T>()});
  });
}

void dropout_apply(const device::Device& device, const Dropout& dropout, const tensor::Tensor& x,
                   const tensor::Tensor& y) {
  check(dropout, x, y);
  if (dropout.probability == 0 && x.data == y.data) return;
  if (device.space() != device::Space::host) return portable::dropout_apply(dropout, x, y);
  with_element_type(x.dtype, [&](auto element) {
    using T = decltype(element);
    add_on_host<T>(device, dropout, x.shape, {nullptr, x.as<T>(), y.as<T>()});
  });
}

}  // namespace trireme::kernels
