// Parameters: what a model is made of, and where this rank's part of each sits in the whole.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "trireme/tensor/tensor.hpp"

namespace trireme::tensor {

/// Where this rank's part of a tensor sits: plain numbers, offset and extent per dimension of the global shape.
struct Shard {
  Shape offset;
  Shape extent;
  bool operator==(const Shard&) const = default;
};

/// The shard that is the whole tensor.
[[nodiscard]] Shard whole(const Shape& global_shape);

/// How the first weights are drawn; a pure function of seed, name and global index.
enum class Initial : std::uint8_t { zeros, ones, normal };

/// Which other ranks of the tensor axis hold the same entry and keep it alike.
enum class Replicas : std::uint8_t {
  none,
  tensor_axis,  ///< all of them
  kv_slices     ///< those that read the same slices of keys and values
};

/// One contiguous part of a tensor of the model. A rank holds one entry for each slice of the tensor that is its own.
struct Parameter {
  std::string name;    ///< `blocks.3.attention.query.weight`
  Shape global_shape;  ///< logical: no padding, no layout of any grid
  Shard shard;         ///< where this entry sits in the whole; may be empty
  Initial initial = Initial::zeros;
  double deviation = 0;  ///< of Initial::normal
  bool decays = false;   ///< weight decay applies
  bool trainable = true;
  int bucket = 0;       ///< parameters of one bucket are contiguous and are reduced together
  std::string tied_to;  ///< gradient only: a second gradient of the named parameter, which holds the weights
  bool counted = true;  ///< of replicas on several ranks exactly one is: it stands for all in norms and checkpoints
  Replicas replicas = Replicas::none;
  bool follows = false;  ///< a table whose weights come from another stage after each update (no gradient, no moments
                         ///< here); with tied_to: a second gradient whose reduced piece comes from another stage
  Tensor weight;         ///< [shard.extent]
  Tensor gradient;       ///< [shard.extent], fp32
};

/// The parameters of one model on this rank, in the order of creation. Addresses stay valid while the store lives.
class ParameterStore {
 public:
  ParameterStore() = default;
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  /// Adds an entry; weight and gradient are laid out later. Contract: no entry of this name begins at this place.
  Parameter& add(Parameter parameter);
  /// The first entry of that name, or nullptr.
  [[nodiscard]] Parameter* find(const std::string& name);
  /// All entries of that name, in the order of creation.
  [[nodiscard]] std::vector<Parameter*> entries(const std::string& name);
  [[nodiscard]] std::deque<Parameter>& all() noexcept { return parameters_; }
  [[nodiscard]] const std::deque<Parameter>& all() const noexcept { return parameters_; }
  /// Buckets 0 ... count - 1 exist, entries or not.
  void reserve_buckets(int count);
  [[nodiscard]] int num_buckets() const noexcept { return num_buckets_; }
  /// The parameters of a bucket, in order.
  [[nodiscard]] std::vector<Parameter*> bucket(int bucket);

 private:
  int num_buckets_ = 0;
  std::deque<Parameter> parameters_;
  std::unordered_map<std::string, std::vector<Parameter*>> by_name_;
};

}  // namespace trireme::tensor
