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
  Parameter& added = parameters_.emplace_back(std::move(parameter));
  std::vector<Parameter*>& entries = by_name_[added.name];
  TRIREME_EXPECT(std::none_of(entries.begin(), entries.end(), [&](const Parameter* entry) {
    return entry->shard.offset == added.shard.offset && entry->shard.extent.size() > 0 && added.shard.extent.size() > 0;
  }));
  entries.push_back(&added);
  reserve_buckets(added.bucket + 1);
  return added;
}

Parameter* ParameterStore::find(const std::string& name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.front();
}

std::vector<Parameter*> ParameterStore::entries(const std::string& name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::vector<Parameter*>{} : found->second;
}

void ParameterStore::reserve_buckets(int count) {
  num_buckets_ = std::max(num_buckets_, count);
}

std::vector<Parameter*> ParameterStore::bucket(int bucket) {
  std::vector<Parameter*> members;
  for (Parameter& parameter : parameters_) {
    if (parameter.bucket == bucket) members.push_back(&parameter);
  }
  return members;
}

}  // namespace trireme::tensor
