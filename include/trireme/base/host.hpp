// The machine that this process runs on.
#pragma once

#include <string>

namespace trireme {

/// The host's name; `unknown` when the system does not tell it.
[[nodiscard]] std::string host_name();

}  // namespace trireme
