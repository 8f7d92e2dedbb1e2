#include "trireme/base/units.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace trireme {
namespace {

/// Three digits that say something, without trailing zeros: 1.5, 124, 12.3.
std::string three_digits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') {
      text.pop_back();
    }
  }
  return text;
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    return fmt::format("{} B", bytes);
  }
  double value = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  while (value >= 1023.995 && unit + 1 < units.size()) {  // would print as 1024.00
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, units[unit]);
}

std::string format_count(std::uint64_t count) {
  constexpr std::array units = {"K", "M", "B", "T"};
  if (count < 1000) {
    return fmt::format("{}", count);
  }
  double value = static_cast<double>(count) / 1000.0;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {  // would print as 1000
    value /= 1000.0;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(value), units[unit]);
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) {
    return "unknown";
  }
  if (seconds < 0) {
    return fmt::format("-{}", format_seconds(-seconds));
  }
  if (seconds < 59.95) {  // above it, three digits would print as 60.0
    return fmt::format("{:.3g} s", seconds);
  }
  const double whole = std::round(seconds);
  if (whole < 3600) {
    return fmt::format("{:.0f} min {:02.0f} s", std::floor(whole / 60), std::fmod(whole, 60));
  }
  const double minutes = std::round(seconds / 60);
  return fmt::format("{:.0f} h {:02.0f} min", std::floor(minutes / 60), std::fmod(minutes, 60));
}

}  // namespace trireme
