#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/core.h>

#include "trireme/base/text.hpp"
#include "trireme/checkpoint/checkpoint.hpp"

#include "checkpoint/element.hpp"
#include "checkpoint/store.hpp"

namespace trireme::checkpoint {
namespace {

struct Difference {
  std::int64_t num_different = 0;  ///< elements whose bits differ
  double absolute = 0;             ///< largest
  double relative = 0;             ///< largest |a - b| / max(|a|, |b|)
};

/// NaN counts as infinitely far from anything.
double distance(double a, double b) {
  const double between = std::fabs(a - b);
  return std::isnan(between) ? std::numeric_limits<double>::infinity() : between;
}

class Comparison {
 public:
  Comparison(Store& a, Store& b) : a_(a), b_(b) {}
  int run();

 private:
  void compare_counters();
  template <class T>
  void compare_counter(const char* name, T a, T b);
  void compare_tensor(std::int64_t in_a);
  void say_only_in(const Store& has, const Store& lacks, const std::string& which);
  Difference difference_of(std::int64_t in_a, std::int64_t in_b);
  void add_tile(Dtype dtype, std::int64_t count, const void* from_a, Difference& difference);

  Store& a_;
  Store& b_;
  std::vector<std::byte> from_b_;
  std::vector<double> numbers_a_;
  std::vector<double> numbers_b_;
  std::int64_t num_different_ = 0;
};

int Comparison::run() {
  compare_counters();
  for (std::size_t i = 0; i < a_.index().tensors.size(); ++i) compare_tensor(static_cast<std::int64_t>(i));
  say_only_in(a_, b_, "first");
  say_only_in(b_, a_, "second");
  fmt::print("{}\n", num_different_ == 0 ? std::string("equal")
                                         : counted(static_cast<std::uint64_t>(num_different_), "difference"));
  return num_different_ == 0 ? 0 : 1;
}

template <class T>
void Comparison::compare_counter(const char* name, T a, T b) {
  if (std::memcmp(&a, &b, sizeof a) == 0) return;
  ++num_different_;
  fmt::print("{}: {} and {}\n", name, a, b);
}

void Comparison::compare_counters() {
  const Metadata& a = a_.index().metadata;
  const Metadata& b = b_.index().metadata;
  compare_counter("step", a.step, b.step);
  compare_counter("samples", a.samples, b.samples);
  compare_counter("tokens", a.tokens, b.tokens);
  compare_counter("skipped", a.skipped, b.skipped);
  compare_counter("loss scale", a.loss_scale, b.loss_scale);
  compare_counter("loss scale good steps", a.loss_scale_good_steps, b.loss_scale_good_steps);
}

void Comparison::say_only_in(const Store& has, const Store& lacks, const std::string& which) {
  for (const TensorInfo& tensor : has.index().tensors) {
    if (lacks.find(tensor.name) >= 0) continue;
    ++num_different_;
    fmt::print("{}: only in the {}\n", tensor.name, which);
  }
}

void Comparison::compare_tensor(std::int64_t in_a) {
  const TensorInfo& a = a_.index().tensors[static_cast<std::size_t>(in_a)];
  const std::int64_t in_b = b_.find(a.name);
  if (in_b < 0) return;
  const TensorInfo& b = b_.index().tensors[static_cast<std::size_t>(in_b)];
  if (!(a.shape == b.shape) || a.dtype != b.dtype) {
    ++num_different_;
    fmt::print("{}: {} {} and {} {}\n", a.name, name_of(a.dtype), a.shape.text(), name_of(b.dtype), b.shape.text());
    return;
  }
  const Difference difference = difference_of(in_a, in_b);
  if (difference.num_different == 0) {
    fmt::print("{}: equal\n", a.name);
    return;
  }
  ++num_different_;
  fmt::print("{}: {} of {} elements differ, by at most {:.6g} absolute, {:.6g} relative\n", a.name,
             difference.num_different, a.shape.size(), difference.absolute, difference.relative);
}

Difference Comparison::difference_of(std::int64_t in_a, std::int64_t in_b) {
  const Dtype dtype = a_.index().tensors[static_cast<std::size_t>(in_a)].dtype;
  Difference difference;
  a_.for_each_tile(in_a, [&](const Shard& rectangle, const void* from_a) {
    const std::int64_t count = rectangle.extent.size();
    from_b_.resize(static_cast<std::size_t>(count) * size_of(dtype));
    b_.read(in_b, rectangle, from_b_.data());
    if (std::memcmp(from_a, from_b_.data(), from_b_.size()) != 0) add_tile(dtype, count, from_a, difference);
  });
  return difference;
}

void Comparison::add_tile(Dtype dtype, std::int64_t count, const void* from_a, Difference& difference) {
  to_doubles(dtype, from_a, count, numbers_a_);
  to_doubles(dtype, from_b_.data(), count, numbers_b_);
  const std::size_t element = size_of(dtype);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (std::memcmp(static_cast<const std::byte*>(from_a) + i * element, from_b_.data() + i * element, element) == 0) {
      continue;
    }
    ++difference.num_different;
    const double absolute = distance(numbers_a_[i], numbers_b_[i]);
    const double larger = std::max(std::fabs(numbers_a_[i]), std::fabs(numbers_b_[i]));
    difference.absolute = std::max(difference.absolute, absolute);
    if (absolute > 0) difference.relative = std::max(difference.relative, distance(absolute / larger, 0));
  }
}

}  // namespace

int print_diff(const std::string& a, const std::string& b) {
  const std::string folder_a = find_checkpoint(a);
  const std::string folder_b = find_checkpoint(b);
  Store store_a(folder_a, read_index(folder_a));
  Store store_b(folder_b, read_index(folder_b));
  return Comparison(store_a, store_b).run();
}

}  // namespace trireme::checkpoint
