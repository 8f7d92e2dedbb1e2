// What the layers are told of a model.
#pragma once

#include <string>

#include "trireme/layers/block.hpp"
#include "trireme/model/options.hpp"

namespace trireme::model {

[[nodiscard]] layers::NormOptions norm_options(const ModelOptions& options, const std::string& name, int bucket);

/// Of block `index`. Dropout sites: 0 is the embedding's, then three a block.
[[nodiscard]] layers::BlockOptions block_options(const ModelOptions& options, std::int64_t index, int bucket);

}  // namespace trireme::model
