#include <gtest/gtest.h>

#include "trireme/text/tokenizer.hpp"

namespace trireme::text {
namespace {

/// Encodes a code point by the definition, surrogates and too large ones included.
std::string encode_utf8(std::uint32_t code) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | (code >> 6)), byte(0x80 | (code & 0x3F))};
  if (code < 0x10000) {
    return {byte(0xE0 | (code >> 12)), byte(0x80 | ((code >> 6) & 0x3F)), byte(0x80 | (code & 0x3F))};
  }
  return {byte(0xF0 | (code >> 18)), byte(0x80 | ((code >> 12) & 0x3F)), byte(0x80 | ((code >> 6) & 0x3F)),
          byte(0x80 | (code & 0x3F))};
}

TEST(ValidUtf8Length, TakesExactlyTheScalarValuesOfUnicode) {
  for (std::uint32_t code = 0; code < 0x120000; ++code) {
    const std::string character = encode_utf8(code);
    const bool legal = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    ASSERT_EQ(valid_utf8_length(character), legal ? character.size() : 0U) << code;
  }
}

TEST(ValidUtf8Length, RefusesOverlongForms) {
  for (const std::string text :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF"}) {
    EXPECT_EQ(valid_utf8_length(text), 0U);
  }
}

TEST(ValidUtf8Length, StopsBeforeTheFirstMalformedCharacter) {
  EXPECT_EQ(valid_utf8_length(""), 0U);
  EXPECT_EQ(valid_utf8_length("abc\xC3\xA9"), 5U);
  EXPECT_EQ(valid_utf8_length("abc\xC3"), 3U);
  EXPECT_EQ(valid_utf8_length("ab\x80"
                              "c"),
            2U);
  EXPECT_EQ(valid_utf8_length("ab\xE2\x82"), 2U);
  EXPECT_EQ(valid_utf8_length("ab\xF0\x9F\x98"), 2U);
  EXPECT_EQ(valid_utf8_length("\xFF"), 0U);
}

}  // namespace
}  // namespace trireme::text
