#pragma once

#include "trireme/data/prepare.hpp"

namespace trireme::data {

/// Throws InputError with all that is wrong with the options, before any input is read.
void check(const PrepareOptions& options);

}  // namespace trireme::data
