// A shipped deck is a tested deck.
#include <filesystem>

#include <gmock/gmock.h>

#include "unit/config/decks.hpp"

namespace trireme::config {
namespace {

TEST(ShippedDecks, AreRead) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TRIREME_INPUTS)) {
    if (entry.path().extension() != ".toml") continue;
    EXPECT_NO_THROW(static_cast<void>(read_deck(entry.path().string(), {}))) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace trireme::config
