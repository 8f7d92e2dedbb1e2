#include "train/fingerprints.hpp"

#include <bit>
#include <sstream>

#include <fmt/core.h>

#include "trireme/io/file.hpp"
#include "trireme/kernels/fingerprint.hpp"

namespace trireme::train {

namespace {

std::uint64_t fingerprint_of(const device::Device& device, const tensor::Parameter& parameter,
                             const tensor::Shard& place, float* values) {
  const optim::HeldArray array{.parameter = &parameter,
                               .part = optim::StatePart::masters,
                               .place = place,
                               .values = {.data = values, .shape = place.extent}};
  return optim::fingerprint_of(device, array);
}

}  // namespace

Fingerprints::Fingerprints(const device::Device& device, comm::Communicator& world,
                           const layers::TensorAxis& tensor_axis, const optim::DataAxis& data_axis,
                           const optim::Weights& weights, optim::Optimizer& optimizer,
                           const optim::GradientSync& gradients, std::int64_t layers)
    : device_(device),
      world_(world),
      data_axis_(data_axis),
      weights_(weights),
      optimizer_(optimizer),
      sync_(gradients),
      layers_(layers),
      passes_(device, tensor_axis, layers) {
  // Buckets are numbered alike on all stages, in the order of the layers.
  for (int bucket = 0; bucket < weights.num_buckets(); ++bucket) {
    const optim::BucketLayout& layout = weights.layout(bucket);
    std::string mine;
    for (const tensor::Parameter* parameter : layout.parameters) mine += parameter->name + '\n';
    const bool is_gradient_only = world.any(!layout.parameters.empty() && layout.gradient_only());
    for (const std::string& text : world.all_gather_text(mine)) {
      std::istringstream lines(text);
      for (std::string name; std::getline(lines, name);) {
        if (!numbers_.emplace(name, names_.size()).second) continue;
        names_.push_back(name);
        has_weight_.push_back(!is_gradient_only);
      }
    }
  }
}

void Fingerprints::begin_step() {
  passes_.begin_step();
  gradients_.assign(names_.size(), 0);
  weights_after_.assign(names_.size(), 0);
}

void Fingerprints::add(std::vector<std::uint64_t>& sums, const tensor::Parameter& parameter, const tensor::Shard& place,
                       float* values) const {
  sums[numbers_.at(parameter.name)] += fingerprint_of(device_, parameter, place, values);
}

void Fingerprints::take_gradients() {
  if (!data_axis_.counts()) return;
  for (int bucket = 0; bucket < weights_.num_buckets(); ++bucket) {
    const optim::BucketLayout& layout = weights_.layout(bucket);
    const std::span<float> own = sync_.own(bucket);
    if (own.empty() || layout.follows()) continue;  // a gradient that follows was made on another stage
    for (const optim::OwnedRows& rows : layout.owned) {
      if (!rows.parameter->counted) continue;
      add(gradients_, *rows.parameter, rows.rectangle(), own.data() + (rows.bucket_offset - layout.own_begin));
    }
  }
}

void Fingerprints::take_weights() {
  for (const optim::StatePiece& piece : optimizer_.state()) {
    if (piece.counted) add(weights_after_, *piece.parameter, piece.rectangle, piece.weight);
  }
}

std::vector<Fingerprint> Fingerprints::finish(double loss, double gradient_norm) {
  std::vector<std::int64_t> sums;
  const auto append = [&](const std::vector<std::uint64_t>& part) {
    sums.insert(sums.end(), part.begin(), part.end());
  };
  append(passes_.outputs());
  append(passes_.gradients());
  append(gradients_);
  append(weights_after_);
  world_.all_reduce_sum(sums);  // modulo 2^64
  std::vector<Fingerprint> lines;
  auto next = sums.begin();
  const auto take = [&](const char* phase, std::string name) {
    lines.push_back({phase, std::move(name), static_cast<std::uint64_t>(*next++)});
  };
  const auto block = [](std::int64_t layer) { return fmt::format("block {}", layer); };
  take("forward", "embedding");
  for (std::int64_t layer = 0; layer < layers_; ++layer) take("forward", block(layer));
  lines.push_back({"loss", "loss", std::bit_cast<std::uint64_t>(loss)});
  // Passes run from the head down.
  const auto first = next;
  for (std::int64_t layer = layers_; layer >= 0; --layer) {
    next = first + layer;
    take("backward", layer == layers_ ? "head" : block(layer));
  }
  next = first + layers_ + 1;
  for (const std::string& name : names_) take("gradient", name);
  lines.push_back({"norm", "norm", std::bit_cast<std::uint64_t>(gradient_norm)});
  for (std::size_t i = 0; i < names_.size(); ++i, ++next) {
    if (has_weight_[i]) lines.push_back({"weight", names_[i], static_cast<std::uint64_t>(*next)});
  }
  return lines;
}

void write_fingerprints(const std::string& folder, std::int64_t step, const std::vector<Fingerprint>& fingerprints) {
  std::string text = "phase\tname\tfingerprint\n";
  for (const Fingerprint& line : fingerprints)
    text += fmt::format("{}\t{}\t{:016x}\n", line.phase, line.name, line.value);
  io::make_folders(folder);
  io::write_text_atomically(fmt::format("{}/step_{:08}.tsv", folder, step), text);
}

}  // namespace trireme::train
