#include "trireme/kernels/random.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/io/hash.hpp"

#include "kernels/element.hpp"
#include "kernels/normal_quantile.hpp"
#include "kernels/philox.hpp"

namespace trireme::kernels {

namespace {

// The four words of elements 4 * block ... 4 * block + 3 of a stream of normal deviates.
PhiloxBlock words_of_block(std::uint64_t seed, std::uint64_t purpose, std::uint64_t block) {
  const PhiloxBlock counter{{lower_half(block), upper_half(block), lower_half(purpose), upper_half(purpose)}};
  return philox_rounds(counter, lower_half(seed), upper_half(seed));
}

// The middle of the word's interval: never 0 or 1, and symmetric about 1/2.
double normal_of_word(std::uint32_t word) {
  return normal_quantile((static_cast<double>(word) + 0.5) * 0x1p-32);
}

struct Stream {
  std::uint64_t seed;
  std::uint64_t purpose;
  double deviation;
};

template <class T>
void draw_run(const Stream& stream, std::uint64_t first, std::int64_t count, T* values) {
  const std::uint64_t end = first + static_cast<std::uint64_t>(count);
  for (std::uint64_t index = first; index < end;) {
    const PhiloxBlock random = words_of_block(stream.seed, stream.purpose, index / 4);
    const std::uint64_t block_end = std::min(end, (index / 4 + 1) * 4);
    for (; index < block_end; ++index) {
      const double deviate = stream.deviation * normal_of_word(random.word[index % 4]);
      *values++ = from_float<T>(static_cast<float>(deviate));
    }
  }
}

// Row-major index, in the global tensor, of the first element of row `row` of the rectangle.
std::uint64_t global_index_of_row(const tensor::Shape& global_shape, const tensor::Shard& rectangle, std::int64_t row) {
  const tensor::Shape& extent = rectangle.extent;
  const int last = extent.num_dims() - 1;
  std::int64_t index = rectangle.offset[last];
  std::int64_t stride = global_shape[last];
  for (int dim = last - 1; dim >= 0; --dim) {
    index += (rectangle.offset[dim] + row % extent[dim]) * stride;
    stride *= global_shape[dim];
    row /= extent[dim];
  }
  return static_cast<std::uint64_t>(index);
}

template <class T>
void draw(const device::Device& device, std::uint64_t seed, const tensor::Parameter& parameter,
          const tensor::Shard& rectangle, T* target) {
  const tensor::Shape& extent = rectangle.extent;
  TRIREME_EXPECT(extent.num_dims() == parameter.global_shape.num_dims());
  const std::int64_t columns = extent.columns();
  const Stream stream{seed, purpose_of(parameter.name), parameter.deviation};
  device.parallel(extent.rows(), [&](std::int64_t row, int) {
    T* values = target + row * columns;
    if (parameter.initial == tensor::Initial::normal) {
      draw_run(stream, global_index_of_row(parameter.global_shape, rectangle, row), columns, values);
    } else {
      std::fill_n(values, columns, from_float<T>(parameter.initial == tensor::Initial::ones ? 1.0F : 0.0F));
    }
  });
}

}  // namespace

PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  const PhiloxBlock words = philox_rounds({{counter[0], counter[1], counter[2], counter[3]}}, key[0], key[1]);
  return {words.word[0], words.word[1], words.word[2], words.word[3]};
}

std::uint64_t purpose_of(std::string_view text) {
  return io::hash64(text.data(), text.size());
}

double normal_at(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index) {
  return normal_of_word(words_of_block(seed, purpose, index / 4).word[index % 4]);
}

void draw_initial(const device::Device& device, std::uint64_t seed, const tensor::Parameter& parameter,
                  const tensor::Shard& rectangle, float* target) {
  draw(device, seed, parameter, rectangle, target);
}

void draw_initial(const device::Device& device, std::uint64_t seed, const tensor::Parameter& parameter) {
  TRIREME_EXPECT(parameter.weight.shape == parameter.shard.extent);
  with_element_type(parameter.weight.dtype, [&](auto element) {
    draw(device, seed, parameter, parameter.shard, parameter.weight.as<decltype(element)>());
  });
}

}  // namespace trireme::kernels
