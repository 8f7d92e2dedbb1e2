#include "hdf5/metadata_image.hpp"

#include <array>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace trireme::hdf5 {
namespace {

/// Every byte on its own, known or not.
using Reference = std::array<std::optional<char>, 97>;

void expect_equal(const MetadataImage& image, const Reference& reference) {
  std::string read(reference.size(), '?');
  image.get(0, read.data(), read.size());
  std::string wanted;
  for (const auto& byte : reference) {
    wanted += byte.value_or('?');
  }
  ASSERT_EQ(read, wanted);
  std::size_t known = 0;
  std::uint64_t end = 0;
  for (const auto& [offset, content] : image.blocks()) {
    ASSERT_GE(offset, end) << "blocks overlap";
    ASSERT_FALSE(content.empty());
    end = offset + content.size();
    known += content.size();
  }
  ASSERT_EQ(known, static_cast<std::size_t>(std::count_if(reference.begin(), reference.end(),
                                                          [](const auto& byte) { return byte.has_value(); })));
}

TEST(MetadataImage, AgreesWithAPlainArrayWhateverTheOrderOfWritesAndCuts) {
  std::mt19937 random(1);
  for (int repetition = 0; repetition < 50; ++repetition) {
    MetadataImage image;
    Reference reference;
    for (int action = 0; action < 60; ++action) {
      const std::size_t begin = random() % reference.size();
      const std::size_t bytes = random() % std::min<std::size_t>(20, reference.size() - begin + 1);
      const bool put = random() % 3 != 0;
      const std::string content(bytes, static_cast<char>('a' + random() % 26));
      if (put) {
        image.put(begin, content.data(), bytes);
      } else {
        image.cut(begin, bytes);
      }
      for (std::size_t i = 0; i < bytes; ++i) {
        reference[begin + i] = put ? std::optional<char>(content[i]) : std::nullopt;
      }
      expect_equal(image, reference);
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST(MetadataImage, ReadsPartsThatBeginInTheMiddleOfABlock) {
  MetadataImage image;
  image.put(10, "abcdef", 6);
  std::string read(4, '?');
  image.get(13, read.data(), read.size());
  EXPECT_EQ(read, "def?");
  image.get(100, read.data(), read.size());
  EXPECT_EQ(read, "def?");
}

}  // namespace
}  // namespace trireme::hdf5
