#pragma once

#include <string>
#include <vector>

#include "trireme/tensor/parameter.hpp"

namespace trireme::optim {

/// One line: how many tensors and parameters decay, do not decay, are frozen, and what kinds they are.
[[nodiscard]] std::string describe_decay_groups(const std::vector<const tensor::Parameter*>& parameters);

}  // namespace trireme::optim
