#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "trireme/base/units.hpp"
#include "trireme/checkpoint/checkpoint.hpp"

#include "checkpoint/element.hpp"
#include "checkpoint/store.hpp"

namespace trireme::checkpoint {
namespace {

/// Least, largest, mean and standard deviation, updated tile by tile (Chan, Golub, LeVeque 1983, eq. 1.5).
class Statistics {
 public:
  void add(const std::vector<double>& numbers);
  [[nodiscard]] std::string text() const;

 private:
  double count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  ///< sum of squared distances from the mean
  double least_ = std::numeric_limits<double>::infinity();
  double largest_ = -std::numeric_limits<double>::infinity();
};

void Statistics::add(const std::vector<double>& numbers) {
  const auto count = static_cast<double>(numbers.size());
  double sum = 0;
  for (const double number : numbers) {
    sum += number;
    least_ = std::min(least_, number);
    largest_ = std::max(largest_, number);
  }
  const double mean = sum / count;
  double squares = 0;
  for (const double number : numbers) squares += (number - mean) * (number - mean);
  const double distance = mean - mean_;
  const double total = count_ + count;
  mean_ += distance * count / total;
  squares_ += squares + distance * distance * count_ * count / total;
  count_ = total;
}

std::string Statistics::text() const {
  return fmt::format("{:>12.5g} {:>12.5g} {:>12.5g} {:>12.5g}", least_, largest_, mean_, std::sqrt(squares_ / count_));
}

void print_metadata(const Store& store) {
  const Index& index = store.index();
  const Metadata& metadata = index.metadata;
  fmt::print("{}\n", store.folder());
  fmt::print("  step {}, samples {}, tokens {}, skipped {}\n", metadata.step, metadata.samples, metadata.tokens,
             metadata.skipped);
  fmt::print("  loss scale {}, good steps {}\n", metadata.loss_scale, metadata.loss_scale_good_steps);
  fmt::print("  grid {}, build {}, instruction set {}, computed in {}\n", metadata.grid, metadata.build, metadata.isa,
             metadata.precision);
  fmt::print("  tokenizer {} ({})\n", metadata.tokenizer_kind, format_bytes(metadata.tokenizer_model.size()));
  fmt::print("  save id {}, {} in {} shards\n\n", index.save_id, format_bytes(index.total_bytes()),
             index.shards.size());
}

void print_tensor(Store& store, std::int64_t tensor, std::size_t name_width) {
  const TensorInfo& info = store.index().tensors[static_cast<std::size_t>(tensor)];
  Statistics statistics;
  std::vector<double> numbers;
  store.for_each_tile(tensor, [&](const Shard& rectangle, const void* data) {
    to_doubles(info.dtype, data, rectangle.extent.size(), numbers);
    statistics.add(numbers);
  });
  fmt::print("{:<{}}  {:<5} {:<18} {}\n", info.name, name_width, name_of(info.dtype), info.shape.text(),
             statistics.text());
}

}  // namespace

int print_show(const std::string& path) {
  const std::string folder = find_checkpoint(path);
  Store store(folder, read_index(folder));
  print_metadata(store);
  const std::vector<TensorInfo>& tensors = store.index().tensors;
  std::size_t name_width = 0;
  for (const TensorInfo& tensor : tensors) name_width = std::max(name_width, tensor.name.size());
  fmt::print("{:<{}}  {:<5} {:<18} {:>12} {:>12} {:>12} {:>12}\n", "tensor", name_width, "type", "shape", "min", "max",
             "mean", "deviation");
  for (std::size_t i = 0; i < tensors.size(); ++i) print_tensor(store, static_cast<std::int64_t>(i), name_width);
  fmt::print("\n{}\n", store.index().metadata.deck);
  return 0;
}

}  // namespace trireme::checkpoint
