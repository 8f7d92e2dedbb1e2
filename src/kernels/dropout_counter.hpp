// How the last word of a dropout's counter is shared (trireme/kernels/random.hpp).
#pragma once

namespace trireme::kernels {

/// The low bits hold the site; the ones above continue the element's number.
inline constexpr int dropout_site_bits = 16;

}  // namespace trireme::kernels
