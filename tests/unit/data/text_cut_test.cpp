#include "data/prepare/text_cut.hpp"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace trireme::data {
namespace {

using text::Cuts;

/// The legal cuts of a whole text by the definition: one walk from its begin.
struct Reference {
  std::vector<bool> legal;
  std::vector<bool> ends_document;
};

Reference walk(const std::string& text, const std::string& separator, Cuts cuts) {
  Reference reference{std::vector<bool>(text.size() + 1, false), std::vector<bool>(text.size() + 1, false)};
  std::size_t document = 0;
  for (std::size_t place = 0; place <= text.size();) {
    if (!separator.empty() && text.compare(place, separator.size(), separator) == 0) {
      const bool before = place > document && text[place - 1] == '\n' && cuts == Cuts::after_newlines;
      reference.legal[place] = reference.legal[place] || before || (cuts == Cuts::at_characters);
      place += separator.size();
      document = place;
      reference.legal[place] = true;
      reference.ends_document[place] = true;
      continue;
    }
    const bool begins_character = place == text.size() || (static_cast<unsigned char>(text[place]) & 0xC0U) != 0x80U;
    if (cuts == Cuts::at_characters && begins_character) reference.legal[place] = true;
    if (cuts == Cuts::after_newlines && place > document && text[place - 1] == '\n') reference.legal[place] = true;
    ++place;
  }
  reference.legal[text.size()] = true;
  return reference;
}

std::string random_text(std::mt19937& random, std::size_t size) {
  const std::vector<std::string> letters{"a", "a", "b", "\n", "\xC3\xA9"};
  std::string text;
  while (text.size() < size) text += letters[random() % letters.size()];
  return text;
}

TEST(FindCut, AgreesWithAWalkFromTheBeginOfTheFileForEveryWindow) {
  std::mt19937 random(11);
  int found = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const std::string text = random_text(random, 1 + random() % 40);
    const std::string separator =
        std::vector<std::string>{"", "a", "aa", "aba", "\n\n", "a\na", "\xC3\xA9"}[random() % 7];
    const Cuts cuts = std::vector<Cuts>{Cuts::at_characters, Cuts::after_newlines, Cuts::at_documents}[random() % 3];
    const std::size_t nominal = 1 + random() % text.size();
    const std::size_t begin = random() % 2 == 0 ? 0 : random() % nominal;
    const std::size_t end = random() % 2 == 0 ? text.size() : nominal + random() % (text.size() - nominal + 1);
    const TextWindow window{std::string_view(text).substr(begin, end - begin), begin == 0, end == text.size()};
    const auto cut = find_cut(window, nominal - begin, separator, cuts);
    if (!cut) {
      ASSERT_FALSE(begin == 0 && end == text.size());
      continue;
    }
    ++found;
    const Reference reference = walk(text, separator, cuts);
    std::size_t expected = nominal;
    while (!reference.legal[expected]) ++expected;
    ASSERT_EQ(begin + cut->position, expected) << text << " by " << separator << " from " << nominal;
    if (expected < text.size()) {
      ASSERT_EQ(cut->starts_document, reference.ends_document[expected]) << text;
    }
  }
  EXPECT_GT(found, 10000);
}

TEST(FindCut, NeverCutsASeparator) {
  const TextWindow whole{"one<end>two", true, true};
  for (std::size_t nominal = 4; nominal <= 8; ++nominal) {
    const auto cut = find_cut(whole, nominal, "<end>", Cuts::at_characters);
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->position, 8U);
    EXPECT_TRUE(cut->starts_document);
  }
  EXPECT_EQ(find_cut(whole, 3, "<end>", Cuts::at_characters)->position, 3U);
}

}  // namespace
}  // namespace trireme::data
