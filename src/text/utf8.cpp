#include "trireme/text/tokenizer.hpp"

namespace trireme::text {
namespace {

unsigned byte_at(std::string_view text, std::size_t position) {
  return position < text.size() ? static_cast<unsigned char>(text[position]) : 0U;
}

bool is_continuation(unsigned byte) {
  return (byte & 0xC0U) == 0x80U;
}

/// Bytes of the character at `begin`; 0 if it is malformed. The table of well-formed sequences: Unicode 15, table 3-7.
std::size_t character_length(std::string_view text, std::size_t begin) {
  const unsigned lead = byte_at(text, begin);
  const unsigned second = byte_at(text, begin + 1);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  if (lead < 0xE0) return is_continuation(second) ? 2 : 0;

  unsigned least = 0x80;
  unsigned most = 0xBF;
  if (lead == 0xE0) least = 0xA0;  // below: overlong
  if (lead == 0xED) most = 0x9F;   // above: surrogates
  if (lead == 0xF0) least = 0x90;  // below: overlong
  if (lead == 0xF4) most = 0x8F;   // above: past U+10FFFF
  if (second < least || second > most || !is_continuation(byte_at(text, begin + 2))) return 0;
  if (lead < 0xF0) return 3;
  return is_continuation(byte_at(text, begin + 3)) ? 4 : 0;
}

}  // namespace

std::size_t valid_utf8_length(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t length = character_length(text, position);
    if (length == 0) break;
    position += length;
  }
  return position;
}

}  // namespace trireme::text
