#include "trireme/tensor/parameter.hpp"

#include <algorithm>
#include <utility>

namespace trireme::tensor {

Shard whole(const Shape& global_shape) {
  Shard shard{.offset = global_shape, .extent = global_shape};
  for (int dim = 0; dim < global_shape.num_dims(); ++dim) shard.offset[dim] = 0;
  return shard;
}

Parameter& ParameterStore::add(Parameter parameter) {
  TRIREME_EXPECT(find(parameter.name) == nullptr);
  return parameters_.emplace_back(std::move(parameter));
}

Parameter* ParameterStore::find(const std::string& name) {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&name](const Parameter& parameter) { return parameter.name == name; });
  return found == parameters_.end() ? nullptr : &*found;
}

int ParameterStore::num_buckets() const noexcept {
  int count = 0;
  for (const Parameter& parameter : parameters_) count = std::max(count, parameter.bucket + 1);
  return count;
}

std::vector<Parameter*> ParameterStore::bucket(int bucket) {
  std::vector<Parameter*> members;
  for (Parameter& parameter : parameters_) {
    if (parameter.bucket == bucket) members.push_back(&parameter);
  }
  return members;
}

}  // namespace trireme::tensor
