#include "data/prepare/text_cut.hpp"

#include <algorithm>

namespace trireme::data {
namespace {

/// A place below `nominal` that no occurrence of the separator straddles, overlapping ones included: a search that
/// starts there finds what a search from the file's begin finds.
std::optional<std::size_t> clean_place(const TextWindow& window, std::size_t nominal, std::string_view separator) {
  if (separator.empty()) return nominal - 1;
  const std::size_t reach = separator.size() - 1;
  if (!window.at_file_end && nominal + reach > window.text.size()) return std::nullopt;
  for (std::size_t place = nominal - 1; place > 0; --place) {
    if (!window.at_file_begin && place < reach) return std::nullopt;
    const std::size_t from = place - std::min(place, reach);
    if (window.text.substr(from, place + reach - from).find(separator) == std::string_view::npos) return place;
  }
  if (window.at_file_begin) return 0;
  return std::nullopt;
}

bool is_character_begin(std::string_view text, std::size_t position) {
  return position == text.size() || (static_cast<unsigned char>(text[position]) & 0xC0U) != 0x80U;
}

/// The first legal cut in [from, last], where no separator lies.
std::optional<std::size_t> cut_within(const TextWindow& window, std::size_t from, std::size_t last, text::Cuts cuts) {
  if (cuts == text::Cuts::after_newlines) {
    const std::size_t newline = window.text.find('\n', from - 1);
    if (newline != std::string_view::npos && newline + 1 <= last) return newline + 1;
  }
  if (cuts == text::Cuts::at_characters) {
    if (!window.at_file_end) last = std::min(last, window.text.size() - 1);  // the next character is not in sight
    for (std::size_t place = from; place <= last; ++place) {
      if (is_character_begin(window.text, place)) return place;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<TextCut> find_cut(const TextWindow& window, std::size_t nominal, std::string_view separator,
                                text::Cuts cuts) {
  const std::optional<std::size_t> start = clean_place(window, nominal, separator);
  if (!start) return std::nullopt;
  for (std::size_t place = *start;;) {
    const std::size_t next = separator.empty() ? std::string_view::npos : window.text.find(separator, place);
    const bool found = next != std::string_view::npos;
    const std::size_t unseen = window.at_file_end || separator.empty() ? 0 : separator.size() - 1;
    const std::size_t last = found ? next : window.text.size() - unseen;
    const std::size_t from = std::max(place, nominal);
    if (from <= last) {
      if (const auto cut = cut_within(window, from, last, cuts)) return TextCut{*cut, false};
    }
    if (!found) {
      if (!window.at_file_end) return std::nullopt;
      return TextCut{window.text.size(), true};
    }
    place = next + separator.size();
    if (place >= nominal) return TextCut{place, true};
  }
}

}  // namespace trireme::data
