// Calls into oneDNN: its errors become ours, its instruction set is the device's.
#pragma once

#include <string>

#include <dnnl.hpp>

#include "trireme/base/dtype.hpp"
#include "trireme/device/device.hpp"

namespace trireme::kernels::host {

/// The library's name of an element type. Throws InputError for a type that it cannot multiply.
[[nodiscard]] dnnl::memory::data_type onednn_type(Dtype dtype);

/// Makes oneDNN use `isa` exactly (avx2 for `generic`), in the whole process, so that unlike processors compute alike:
/// the library takes the setting until its first primitive exists. Throws SystemError when that came too late and
/// another set is in force.
void limit_onednn(device::Isa isa);

/// An error of the library with its words and what was being done.
[[noreturn]] void throw_onednn_error(const dnnl::error& error, const std::string& doing);

}  // namespace trireme::kernels::host
