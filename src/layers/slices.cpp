#include "trireme/layers/slices.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"

namespace trireme::layers {

namespace {

constexpr std::int64_t most_automatic_slices = 8;

bool is_power_of_two(std::int64_t number) {
  return number > 0 && (number & (number - 1)) == 0;
}

/// Every legal request for `tensor_size` ranks, in ascending order.
std::vector<std::int64_t> legal_slices(const SliceSizes& sizes, int tensor_size) {
  std::vector<std::int64_t> legal;
  for (std::int64_t slices = 1; slices <= sizes.heads; slices *= 2) {
    if (slices % tensor_size == 0 && can_slice(sizes, slices)) legal.push_back(slices);
  }
  return legal;
}

std::string numbers_text(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> texts{"0 (automatic)"};
  for (const std::int64_t number : numbers) texts.push_back(std::to_string(number));
  return join(texts);
}

std::string sizes_text(const SliceSizes& sizes) {
  return fmt::format("`model.heads` is {}, `model.kv_heads` {}, `model.mlp_width` {}", sizes.heads, sizes.kv_heads,
                     sizes.mlp_width);
}

[[noreturn]] void refuse_request(std::int64_t requested, const std::string& why, const SliceSizes& sizes,
                                 int tensor_size) {
  throw InputError(fmt::format("`numerics.tensor_slices` is `{}` ({}; `grid.tensor` is {}, {}) use one of {}",
                               requested, why, tensor_size, sizes_text(sizes),
                               numbers_text(legal_slices(sizes, tensor_size))));
}

[[noreturn]] void refuse_grid(const SliceSizes& sizes, int tensor_size) {
  std::vector<std::string> legal;
  for (std::int64_t size = 1; size <= sizes.heads; ++size) {
    if (can_slice(sizes, size)) legal.push_back(std::to_string(size));
  }
  throw InputError(
      fmt::format("`grid.tensor` is `{}` (as many slices do not fit the model: {}, and `numerics.tensor_slices` is a "
                  "multiple of it) use one of {}",
                  tensor_size, sizes_text(sizes), join(legal)));
}

}  // namespace

bool can_slice(const SliceSizes& sizes, std::int64_t slices) {
  return slices > 0 && sizes.heads % slices == 0 && sizes.mlp_width % slices == 0 &&
         (sizes.kv_heads % slices == 0 || slices % sizes.kv_heads == 0);
}

std::int64_t resolve_slices(std::int64_t requested, const SliceSizes& sizes, int tensor_size, bool invariant) {
  if (!can_slice(sizes, tensor_size)) refuse_grid(sizes, tensor_size);
  if (requested != 0) {
    if (!is_power_of_two(requested)) refuse_request(requested, "not a power of two", sizes, tensor_size);
    if (requested % tensor_size != 0)
      refuse_request(requested, "not a multiple of the tensor axis", sizes, tensor_size);
    if (!can_slice(sizes, requested)) refuse_request(requested, "does not fit the model", sizes, tensor_size);
    return requested;
  }
  if (!invariant) return tensor_size;
  std::int64_t slices = tensor_size;
  for (const std::int64_t legal : legal_slices(sizes, tensor_size)) {
    if (legal <= most_automatic_slices) slices = legal;
  }
  return slices;
}

}  // namespace trireme::layers
