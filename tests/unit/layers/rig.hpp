// A layer with everything that it computes with, on any number of ranks: parameters drawn by global index, inputs by
// global row, so that every rank and every cut sees the same numbers.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "trireme/kernels/cast.hpp"
#include "trireme/kernels/random.hpp"
#include "trireme/layers/context.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::test {

/// Numbers of deviation 1, the same for equal names.
inline std::vector<float> normals(const std::string& name, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] =
        static_cast<float>(kernels::normal_at(7, kernels::purpose_of(name), static_cast<std::uint64_t>(i)));
  }
  return values;
}

/// Integers of [0, below).
inline std::vector<std::int32_t> integers(const std::string& name, std::int64_t count, std::int64_t below) {
  std::vector<std::int32_t> values;
  for (const float value : normals(name, count)) {
    const auto positive = static_cast<std::int64_t>(static_cast<double>(value) * 1e6) % below + below;
    values.push_back(static_cast<std::int32_t>(positive % below));
  }
  return values;
}

template <class T>
tensor::Tensor view(std::vector<T>& values, const tensor::Shape& shape) {
  return {.data = values.data(), .shape = shape, .dtype = dtype_of<T>};
}

template <class T>
std::vector<T> cut(const std::vector<T>& values, std::int64_t begin, std::int64_t count) {
  return {values.begin() + begin, values.begin() + begin + count};
}

/// The values of a tensor of any type of activations.
inline std::vector<float> floats(const device::Device& device, const tensor::Tensor& values) {
  std::vector<float> result(static_cast<std::size_t>(values.size()));
  if (!result.empty()) kernels::cast(device, values, view(result, values.shape));
  return result;
}

/// A tensor with its memory, of a type of activations.
class Typed {
 public:
  Typed(const device::Device& device, std::vector<float> values, const tensor::Shape& shape, Dtype dtype)
      : device_(device), bytes_(values.size() * size_of(dtype)), shape_(shape), dtype_(dtype) {
    if (!values.empty()) kernels::cast(device, view(values, shape), tensor());
  }
  [[nodiscard]] tensor::Tensor tensor() { return {.data = bytes_.data(), .shape = shape_, .dtype = dtype_}; }
  [[nodiscard]] std::vector<float> floats() { return test::floats(device_, tensor()); }

 private:
  const device::Device& device_;
  std::vector<std::byte> bytes_;
  tensor::Shape shape_;
  Dtype dtype_;
};

/// What `values` become in a type of activations.
inline std::vector<float> rounded(const device::Device& device, const std::vector<float>& values, Dtype dtype) {
  return Typed(device, values, {static_cast<std::int64_t>(values.size())}, dtype).floats();
}

class Rig {
 public:
  Rig(comm::Communicator& communicator, const layers::TensorAxisOptions& options, std::int64_t max_rows,
      int num_threads = 1)
      : device_({.num_threads = num_threads, .isa = device::detect_isa()}),
        arena_(std::size_t{96} << 20U),
        gemm_(device_, arena_, options.compute),
        axis_(communicator, device_, options) {
    axis_.allocate(arena_, max_rows);
  }

  [[nodiscard]] const device::Device& device() const { return device_; }
  [[nodiscard]] device::Arena& arena() { return arena_; }
  [[nodiscard]] layers::TensorAxis& axis() { return axis_; }
  [[nodiscard]] tensor::ParameterStore& parameters() { return parameters_; }
  [[nodiscard]] layers::Context context() { return {device_, gemm_, axis_, scratch_}; }

  void allocate_scratch(std::int64_t bytes) {
    scratch_ = tensor::allocate(arena_, {bytes}, Dtype::u8, device::MemoryClass::buffers);
  }

  /// Weights of deviation 0.3, gains around 1, matrices of the type of activations; gradients poisoned, since the first
  /// write must set them.
  void lay_out() {
    for (tensor::Parameter& parameter : parameters_.all()) {
      const auto make = [&](Dtype dtype) {
        return tensor::allocate(arena_, parameter.shard.extent, dtype, device::MemoryClass::parameters);
      };
      parameter.gradient = make(Dtype::f32);
      std::fill_n(parameter.gradient.as<float>(), parameter.gradient.size(), 1e30F);
      if (!parameter.tied_to.empty()) continue;
      parameter.weight = make(parameter.global_shape.num_dims() > 1 ? axis_.compute() : Dtype::f32);
      draw(parameter);
    }
  }

  /// This rank's rows of an array over all rows of a micro-batch.
  template <class T>
  std::vector<T> own(const std::vector<T>& all, std::int64_t rows) const {
    const layers::Range range = axis_.own_rows(rows);
    const std::int64_t columns = static_cast<std::int64_t>(all.size()) / rows;
    return cut(all, range.begin * columns, range.count * columns);
  }

  /// Gradients by name and place of the entry.
  [[nodiscard]] std::map<std::string, std::vector<float>> gradients() const {
    std::map<std::string, std::vector<float>> all;
    for (const tensor::Parameter& parameter : parameters_.all()) {
      const auto* values = parameter.gradient.as<float>();
      all[parameter.name + parameter.shard.offset.text() + parameter.shard.extent.text()] = {
          values, values + parameter.gradient.size()};
    }
    return all;
  }

  /// The whole of a parameter's gradients or weights, put together from this rank's entries (with one rank: all).
  [[nodiscard]] std::vector<double> whole(const std::string& name, tensor::Tensor tensor::Parameter::*member) {
    std::vector<double> values;
    for (const tensor::Parameter* entry : parameters_.entries(name)) {
      values.resize(static_cast<std::size_t>(entry->global_shape.size()));
      const std::vector<float> from = floats(device_, entry->*member);
      for (std::int64_t i = 0; i < entry->shard.extent.size(); ++i) {
        values[static_cast<std::size_t>(global_index(*entry, i))] =
            static_cast<double>(from[static_cast<std::size_t>(i)]);
      }
    }
    return values;
  }

  [[nodiscard]] std::map<std::string, std::vector<double>> whole_weights() {
    std::map<std::string, std::vector<double>> all;
    for (const tensor::Parameter& parameter : parameters_.all()) {
      if (parameter.tied_to.empty()) all[parameter.name] = whole(parameter.name, &tensor::Parameter::weight);
    }
    return all;
  }

 private:
  static std::int64_t global_index(const tensor::Parameter& entry, std::int64_t i) {
    if (entry.global_shape.num_dims() == 1) return entry.shard.offset[0] + i;
    const std::int64_t columns = entry.shard.extent[1];
    return (entry.shard.offset[0] + i / columns) * entry.global_shape[1] + entry.shard.offset[1] + i % columns;
  }

  void draw(const tensor::Parameter& parameter) const {
    const std::vector<float> all = normals(parameter.name, parameter.global_shape.size());
    const float mean = parameter.initial == tensor::Initial::ones ? 1.0F : 0.0F;
    std::vector<float> weight;
    for (std::int64_t i = 0; i < parameter.weight.size(); ++i) {
      weight.push_back(mean + 0.3F * all[static_cast<std::size_t>(global_index(parameter, i))]);
    }
    if (!weight.empty()) kernels::cast(device_, view(weight, parameter.weight.shape), parameter.weight);
  }

  device::Device device_;
  device::Arena arena_;
  kernels::Gemm gemm_;
  layers::TensorAxis axis_;
  tensor::ParameterStore parameters_;
  tensor::Tensor scratch_;
};

}  // namespace trireme::test
