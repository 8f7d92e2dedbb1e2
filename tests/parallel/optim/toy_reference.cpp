#include "parallel/optim/toy_reference.hpp"

#include <cmath>
#include <string_view>

#include "trireme/kernels/adamw.hpp"
#include "trireme/kernels/reduce.hpp"
#include "trireme/optim/optimizer.hpp"

namespace trireme::testing {
namespace {

/// splitmix64: every input bit changes every output bit.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

std::uint64_t number_of(std::string_view name) {
  std::uint64_t hash = 0;
  for (char letter : name) hash = mix(hash ^ static_cast<unsigned char>(letter));
  return hash;
}

float uniform(std::uint64_t key) {
  return static_cast<float>(mix(key) >> 40U) / 16777216.0F - 0.5F;
}

float tree_sum(const float* values, std::size_t count) {
  if (count == 1) return *values;
  std::size_t left = 1;
  while (2 * left < count) left *= 2;
  return tree_sum(values, left) + tree_sum(values + left, count - left);
}

}  // namespace

ToyGradient::ToyGradient(std::int64_t step, std::int64_t micro_batch, const std::string& name)
    : key_(mix(number_of(name) ^ mix(static_cast<std::uint64_t>(step * 1000 + micro_batch)))) {}

float ToyGradient::operator[](std::int64_t element) const {
  return uniform(key_ + static_cast<std::uint64_t>(element)) / 32;
}

float toy_weight(const std::string& name, std::int64_t element) {
  return uniform(number_of(name) + static_cast<std::uint64_t>(element));
}

float tree_sum(const std::vector<float>& values) {
  return tree_sum(values.data(), values.size());
}

ToyReference::ToyReference(const tensor::ParameterStore& store, const ToySum& sum) : sum_(sum) {
  for (const tensor::Parameter& entry : store.all()) {
    const auto size = static_cast<std::size_t>(entry.global_shape.size());
    gradients_[entry.name].resize(size);
    if (!entry.tied_to.empty()) {
      tensors_.at(entry.tied_to).second = entry.name;
      continue;
    }
    if (has(entry.name)) continue;
    Whole& whole = tensors_[entry.name];
    whole = {.shape = entry.global_shape,
             .decays = entry.decays,
             .trainable = entry.trainable,
             .counted = entry.counted,
             .second = "",
             .weight = std::vector<float>(size),
             .gradient = std::vector<float>(size),
             .first_moment = std::vector<float>(size),
             .second_moment = std::vector<float>(size)};
    for (std::size_t i = 0; i < size; ++i) whole.weight[i] = toy_weight(entry.name, static_cast<std::int64_t>(i));
  }
}

float ToyReference::summed(const std::vector<ToyGradient>& micro_batches, std::int64_t element) const {
  const std::int64_t in_lane = sum_.micro_batches / sum_.lanes;
  const auto of = [&](int rank, std::int64_t i) {
    return micro_batches[static_cast<std::size_t>(rank * sum_.micro_batches + i)][element];
  };
  const auto of_rank = [&](int rank) {
    std::vector<float> lanes;
    for (std::int64_t lane = 0; lane < sum_.lanes; ++lane) {
      float value = of(rank, lane * in_lane);
      for (std::int64_t i = 1; i < in_lane; ++i) value += of(rank, lane * in_lane + i);
      lanes.push_back(value);
    }
    return tree_sum(lanes);
  };
  const auto of_group = [&](int group, const auto& value_of_rank) {
    std::vector<float> values;
    for (int place = 0; place < sum_.group; ++place) values.push_back(value_of_rank(group * sum_.group + place));
    return tree_sum(values);
  };
  std::vector<float> groups;
  for (int group = 0; group < sum_.ranks / sum_.group; ++group) {
    if (!sum_.sharded) {
      groups.push_back(of_group(group, of_rank));
      continue;
    }
    float value = 0;
    for (std::int64_t i = 0; i < sum_.micro_batches; ++i) {
      const float next = of_group(group, [&](int rank) { return of(rank, i); });
      value = i == 0 ? next : value + next;
    }
    groups.push_back(value);
  }
  return tree_sum(groups);
}

void ToyReference::step() {
  for (auto& [name, gradient] : gradients_) {
    std::vector<ToyGradient> micro_batches;
    for (std::int64_t i = 0; i < sum_.ranks * sum_.micro_batches; ++i) micro_batches.emplace_back(steps_done_, i, name);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = summed(micro_batches, static_cast<std::int64_t>(i));
    }
  }
  kernels::ExactSum squares;
  for (auto& [name, whole] : tensors_) {
    whole.gradient = gradients_.at(name);
    if (!whole.second.empty()) {
      for (std::size_t i = 0; i < whole.gradient.size(); ++i) whole.gradient[i] += gradients_.at(whole.second)[i];
    }
    if (!whole.trainable || !whole.counted) continue;
    const bool is_vector = whole.shape.num_dims() < 2;
    const std::int64_t rows = is_vector ? 1 : whole.shape.rows();
    const std::int64_t columns = is_vector ? whole.shape.size() : whole.shape.columns();
    kernels::sum_of_squares(device_, rows, columns, whole.gradient.data(), nullptr, squares);
  }
  norm_ = std::sqrt(squares.value());
  ++steps_done_;
  const optim::OptimizerOptions options;
  kernels::AdamW settings{.learning_rate = 1e-3,
                          .beta1 = options.beta1,
                          .beta2 = options.beta2,
                          .epsilon = options.epsilon,
                          .gradient_scale = optim::clip_factor(norm_, 0.5),
                          .update = steps_done_};
  for (auto& [name, whole] : tensors_) {
    if (!whole.trainable) continue;
    settings.weight_decay = whole.decays ? options.weight_decay : 0;
    const float* const second = whole.second.empty() ? nullptr : gradients_.at(whole.second).data();
    kernels::adamw_update(device_, settings, whole.shape.size(), whole.weight.data(), gradients_.at(name).data(),
                          second, whole.first_moment.data(), whole.second_moment.data());
  }
}

double ToyReference::plain_norm() const {
  double squares = 0;
  for (const auto& [name, whole] : tensors_) {
    if (!whole.trainable || !whole.counted) continue;
    for (float value : whole.gradient) squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(squares);
}

}  // namespace trireme::testing
