#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "trireme/base/text.hpp"
#include "trireme/base/units.hpp"
#include "trireme/checkpoint/checkpoint.hpp"

#include "checkpoint/element.hpp"
#include "checkpoint/store.hpp"

namespace trireme::checkpoint {
namespace {

/// Of the finite elements, updated tile by tile.
class Statistics {
 public:
  void add(const std::vector<double>& numbers);
  [[nodiscard]] std::string text() const;

 private:
  double count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  double largest_ = -std::numeric_limits<double>::infinity();
  std::int64_t num_nonfinite_ = 0;
};

void Statistics::add(const std::vector<double>& numbers) {
  for (const double number : numbers) {
    if (!std::isfinite(number)) {
      ++num_nonfinite_;
      continue;
    }
    ++count_;
    sum_ += number;
    squares_ += number * number;
    least_ = std::min(least_, number);
    largest_ = std::max(largest_, number);
  }
}

std::string Statistics::text() const {
  return fmt::format("{:>12.5g} {:>12.5g} {:>12.5g} {:>12.5g} {:>10}", least_, largest_, sum_ / count_,
                     std::sqrt(squares_ / count_), num_nonfinite_);
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

/// `moments/first/` of `moments/first/head.weight`.
std::string group_of(const TensorInfo& tensor) {
  return tensor.name.substr(0, tensor.name.rfind('/') + 1);
}

/// The line of a group, before its tensors.
void print_group(const std::vector<TensorInfo>& tensors, const std::string& group) {
  std::uint64_t num_tensors = 0;
  std::uint64_t num_elements = 0;
  for (const TensorInfo& tensor : tensors) {
    if (group_of(tensor) != group) continue;
    ++num_tensors;
    num_elements += static_cast<std::uint64_t>(tensor.shape.size());
  }
  fmt::print("{}  {}, {} elements\n", group, counted(num_tensors, "tensor"), format_count(num_elements));
}

std::string statistics_text(Store& store, std::int64_t tensor) {
  const Dtype dtype = store.index().tensors[static_cast<std::size_t>(tensor)].dtype;
  Statistics statistics;
  std::vector<double> numbers;
  store.for_each_tile(tensor, [&](const Shard& rectangle, const void* data) {
    to_doubles(dtype, data, rectangle.extent.size(), numbers);
    statistics.add(numbers);
  });
  return statistics.text();
}

void print_tree(Store& store, bool with_statistics) {
  const std::vector<TensorInfo>& tensors = store.index().tensors;
  std::size_t width = 0;
  for (const TensorInfo& tensor : tensors) width = std::max(width, tensor.name.size() - group_of(tensor).size());
  fmt::print("  {:<{}}  {:<5} {:<18}", "tensor", width, "type", "shape");
  if (with_statistics) fmt::print(" {:>12} {:>12} {:>12} {:>12} {:>10}", "min", "max", "mean", "rms", "not finite");
  fmt::print("\n");
  std::string group;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& tensor = tensors[i];
    if (group_of(tensor) != group) print_group(tensors, group = group_of(tensor));
    fmt::print("  {:<{}}  {:<5} {:<18}", tensor.name.substr(group.size()), width, name_of(tensor.dtype),
               tensor.shape.text());
    if (with_statistics) fmt::print(" {}", statistics_text(store, static_cast<std::int64_t>(i)));
    fmt::print("\n");
  }
}

}  // namespace

int print_show(const std::string& path, bool with_statistics) {
  const std::string folder = find_checkpoint(path);
  Store store(folder, read_index(folder));
  print_metadata(store);
  print_tree(store, with_statistics);
  fmt::print("\n{}\n", store.index().metadata.deck);
  return 0;
}

}  // namespace trireme::checkpoint
