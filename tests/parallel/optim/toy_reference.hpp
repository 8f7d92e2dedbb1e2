// What a toy training must give: whole tensors in one process, sums written down as trees. Knows nothing of buckets,
// pieces and messages.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trireme/device/device.hpp"
#include "trireme/optim/options.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::testing {

/// The gradient of a tensor in one micro-batch (numbered over all ranks).
class ToyGradient {
 public:
  ToyGradient(std::int64_t step, std::int64_t micro_batch, const std::string& name);
  /// element: of the whole tensor.
  [[nodiscard]] float operator[](std::int64_t element) const;

 private:
  std::uint64_t key_;
};
[[nodiscard]] float toy_weight(const std::string& name, std::int64_t element);

/// How the gradients of a step are added.
struct ToySum {
  int ranks = 1;
  int group = 1;
  std::int64_t micro_batches = 1;  ///< of a rank
  std::int64_t lanes = 1;          ///< of a rank
  bool sharded = false;            ///< ranks of a group first, micro-batch after micro-batch
};

/// ((0+1)+(2+3))+...: for other counts than powers of two the left subtree holds the largest power of two.
[[nodiscard]] float tree_sum(const std::vector<float>& values);

class ToyReference {
 public:
  struct Whole {
    tensor::Shape shape;
    bool decays = false;
    bool trainable = true;
    bool counted = true;
    std::string second;  ///< name of the tensor whose gradient is added
    std::vector<float> weight;
    std::vector<float> gradient;
    std::vector<float> first_moment;
    std::vector<float> second_moment;
  };

  /// Tensors by name, from the entries of a store.
  ToyReference(const tensor::ParameterStore& store, const ToySum& sum);

  void step();
  [[nodiscard]] double norm() const noexcept { return norm_; }
  /// The same in double, without runs and exact sums.
  [[nodiscard]] double plain_norm() const;
  [[nodiscard]] const Whole& at(const std::string& name) const { return tensors_.at(name); }
  [[nodiscard]] bool has(const std::string& name) const { return tensors_.count(name) > 0; }
  /// The gradient of a tensor, second gradients apart.
  [[nodiscard]] const std::vector<float>& gradient(const std::string& name) const { return gradients_.at(name); }

 private:
  [[nodiscard]] float summed(const std::vector<ToyGradient>& micro_batches, std::int64_t element) const;

  device::Device device_{{}};
  ToySum sum_;
  std::map<std::string, Whole> tensors_;
  std::map<std::string, std::vector<float>> gradients_;
  double norm_ = 0;
  std::int64_t steps_done_ = 0;
};

}  // namespace trireme::testing
