// From a node of the TOML library to our Value. With the two readers, the only code that sees the library.
#pragma once

#include <string>

#include <toml++/toml.h>

#include "config/given.hpp"

namespace trireme::config {

/// Sets value and kind of `given`.
void take_value(const toml::node& node, Given& given);

/// The library's words without its preamble.
[[nodiscard]] std::string words_of(const toml::parse_error& error);

}  // namespace trireme::config
