#pragma once

#include <string>
#include <vector>

#include "trireme/tensor/parameter.hpp"

namespace trireme::optim {

/// One line for each parameter: group (`decay`, `no decay`, `frozen`), elements of the whole tensor, name; tabs
/// between.
[[nodiscard]] std::string lines_of(const std::vector<const tensor::Parameter*>& parameters);

}  // namespace trireme::optim
