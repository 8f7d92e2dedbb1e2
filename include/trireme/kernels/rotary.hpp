// Rotary positions (Su et al. 2021), in the half-split layout of Llama: element k is paired with k + K/2.
#pragma once

#include "trireme/device/device.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

enum class Rotation : std::uint8_t { forward, backward };

/// Fills table [context, K]: cos in columns 0..K/2-1 and sin in K/2..K-1 of position * base^(-2k/K). fp32, K even.
void rotary_table(double base, const tensor::Tensor& table);

/// Rotates x [N, heads, K] in place by its row's position; the backward pass rotates by the negative angle.
/// positions: [N] int32, each in [0, context).
void rotary_apply(const device::Device& device, const tensor::Tensor& table, const tensor::Tensor& positions,
                  Rotation rotation, const tensor::Tensor& x);

}  // namespace trireme::kernels
