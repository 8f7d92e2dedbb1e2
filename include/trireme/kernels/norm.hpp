// LayerNorm (Ba, Kiros, Hinton 2016) and RMSNorm (Zhang, Sennrich 2019).
// N rows (tokens), D width.
#pragma once

#include "trireme/device/device.hpp"
#include "trireme/kernels/write.hpp"
#include "trireme/tensor/tensor.hpp"

namespace trireme::kernels {

/// y = (x - mean) * rstd * gain + bias, mean and rstd = 1/sqrt(var + epsilon) over D, statistics in fp32.
/// x, y: [N, D]; gain, bias: [D] fp32, bias may be empty; mean, rstd: [N] fp32, written.
void layer_norm_forward(const device::Device& device, const tensor::Tensor& x, const tensor::Tensor& gain,
                        const tensor::Tensor& bias, float epsilon, const tensor::Tensor& y, const tensor::Tensor& mean,
                        const tensor::Tensor& rstd);

/// Gradients of layer_norm_forward. dx, dgain and dbias are set or added to as told.
/// dy, x, dx: [N, D]; dgain, dbias: [D] fp32, dbias may be empty; scratch: norm_scratch_elements(N, D) fp32.
/// Sums over tokens run over fixed blocks of 32 rows, added in a balanced tree, then one addition to the output.
void layer_norm_backward(const device::Device& device, const tensor::Tensor& dy, const tensor::Tensor& x,
                         const tensor::Tensor& gain, const tensor::Tensor& mean, const tensor::Tensor& rstd,
                         const tensor::Tensor& dx, Write dx_write, const tensor::Tensor& dgain,
                         const tensor::Tensor& dbias, Write parameter_write, const tensor::Tensor& scratch);

/// y = x * rstd * gain with rstd = 1/sqrt(mean(x^2) + epsilon). Shapes as layer_norm_forward.
void rms_norm_forward(const device::Device& device, const tensor::Tensor& x, const tensor::Tensor& gain, float epsilon,
                      const tensor::Tensor& y, const tensor::Tensor& rstd);

/// Gradients of rms_norm_forward.
void rms_norm_backward(const device::Device& device, const tensor::Tensor& dy, const tensor::Tensor& x,
                       const tensor::Tensor& gain, const tensor::Tensor& rstd, const tensor::Tensor& dx, Write dx_write,
                       const tensor::Tensor& dgain, Write parameter_write, const tensor::Tensor& scratch);

/// Elements of the scratch that the backward passes need.
[[nodiscard]] std::int64_t norm_scratch_elements(std::int64_t rows, std::int64_t width);

}  // namespace trireme::kernels
