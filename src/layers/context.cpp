#include "trireme/layers/context.hpp"

namespace trireme::layers {

tensor::Tensor Context::scratch_floats() const {
  tensor::Tensor floats = scratch;
  floats.dtype = Dtype::f32;
  floats.shape = {scratch.size() / static_cast<std::int64_t>(sizeof(float))};
  return floats;
}

kernels::Dropout Sequences::dropout(double probability, std::uint32_t site, std::int64_t first_row) const {
  return {.probability = training ? static_cast<float>(probability) : 0.0F,
          .seed = seed,
          .site = site,
          .step = step,
          .first_sequence = first_sequence,
          .tokens = tokens,
          .first_row = first_row};
}

}  // namespace trireme::layers
