#include "trireme/optim/lanes.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"

namespace trireme::optim {
namespace {

bool is_power_of_two(std::int64_t number) {
  return number > 0 && (number & (number - 1)) == 0;
}

std::int64_t largest_power_dividing(std::int64_t number, std::int64_t limit) {
  std::int64_t power = 1;
  while (power < limit && number % (2 * power) == 0) power *= 2;
  return power;
}

std::string legal_lanes(std::int64_t num_micro_batches, int data_size) {
  std::vector<std::string> legal{"0 (automatic)"};
  for (std::int64_t lanes = 1; lanes <= num_micro_batches && num_micro_batches % lanes == 0; lanes *= 2) {
    if (lanes % data_size == 0) legal.push_back(std::to_string(lanes));
  }
  return join(legal);
}

[[noreturn]] void refuse(std::int64_t requested, const std::string& why, std::int64_t num_micro_batches,
                         int data_size) {
  throw InputError(fmt::format("`numerics.data_lanes` is `{}` ({}) use one of {}", requested, why,
                               legal_lanes(num_micro_batches, data_size)));
}

}  // namespace

std::int64_t resolve_lanes(std::int64_t requested, std::int64_t num_micro_batches, int data_size, bool invariant) {
  if (requested == 0) {
    const std::int64_t lanes = invariant ? largest_power_dividing(num_micro_batches, 8) : data_size;
    return lanes % data_size == 0 ? lanes : data_size;
  }
  if (!is_power_of_two(requested)) {
    refuse(requested, "lanes are added in a binary tree, so they are a power of two", num_micro_batches, data_size);
  }
  if (num_micro_batches % requested != 0) {
    refuse(requested,
           fmt::format("it does not divide the {} micro-batches of a step, `batch.global` / `batch.micro`",
                       num_micro_batches),
           num_micro_batches, data_size);
  }
  if (requested % data_size != 0) {
    refuse(requested, fmt::format("each of the {} data ranks of `grid.data` adds up whole lanes", data_size),
           num_micro_batches, data_size);
  }
  return requested;
}

}  // namespace trireme::optim
