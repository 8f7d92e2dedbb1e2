#pragma once

#include <cstdint>

#include "kernels/host/isa.hpp"

namespace trireme::kernels::host {

/// log softmax(logits[:vocab])[target]. With gradient, logits become coefficient * (softmax - onehot(target)), and zero
/// from vocab to padded.
TRIREME_ISA_DECLARE(float cross_entropy_row(float* logits, std::int64_t vocab, std::int64_t padded, std::int64_t target,
                                            bool gradient, float coefficient))

}  // namespace trireme::kernels::host
