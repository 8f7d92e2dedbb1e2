#pragma once

#include <cstdint>

#include "trireme/comm/communicator.hpp"
#include "trireme/data/loader.hpp"
#include "trireme/model/stage.hpp"

namespace trireme::pipeline {

struct Evaluation {
  double loss = 0;           ///< nats per counted token; 0 when none is counted
  std::int64_t counted = 0;  ///< tokens, all ranks together
};

/// The loss over a validation set that the ranks of `data_axis` share. Exact sums: the same bits on any number of
/// ranks; leaves no trace in training. Collective over data_axis.
[[nodiscard]] Evaluation evaluate(model::Stage& stage, const data::ValidationSet& validation,
                                  comm::Communicator& data_axis);

}  // namespace trireme::pipeline
