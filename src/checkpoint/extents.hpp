// A shape as the HDF5 wrapper takes it.
#pragma once

#include <cstdint>

#include "trireme/hdf5/file.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::checkpoint {

[[nodiscard]] inline hdf5::Extents extents_of(const tensor::Shape& shape) {
  hdf5::Extents extents;
  for (int dim = 0; dim < shape.num_dims(); ++dim) extents.push_back(static_cast<std::uint64_t>(shape[dim]));
  return extents;
}

}  // namespace trireme::checkpoint
