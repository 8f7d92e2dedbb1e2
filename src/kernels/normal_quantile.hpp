// The inverse of the normal distribution function.
#pragma once

namespace trireme::kernels {

/// x with Phi(x) = p, to about 1e-15 relative, for p in [2^-33, 1 - 2^-33].
/// Source: Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988)
/// 477-484, PPND16; its third branch, for p below e^-25, is not needed here.
[[nodiscard]] double normal_quantile(double p);

}  // namespace trireme::kernels
