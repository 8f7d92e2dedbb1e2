// A damaged file must be refused before the HDF5 library sees it.
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/hdf5/file.hpp"
#include "trireme/io/file.hpp"

#include "unit/io/temporary_folder.hpp"

namespace trireme::hdf5 {
namespace {

using testing::HasSubstr;

std::uint64_t word_at(const std::string& bytes, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof(word));
  return word;
}

class Damage : public testing::Test {
 protected:
  Damage() {
    Writer writer(path_);
    writer.attribute("/", "deck", std::string("[run]"));
    writer.create("/weights/w", {1000}, Dtype::f32);
    writer.write("/weights/w", std::vector<float>(1000, 1.5F).data());
    writer.create("/weights/t", {6}, Dtype::f32, {4});
    writer.write_chunk("/weights/t", {0}, std::vector<float>(4, 2.5F).data(), 16);
    writer.create_virtual("/v", {1000}, Dtype::f32, {{"other.h5", "/w", {0}, {1000}}});
    writer.finish();
    whole_ = io::read_text(path_);
  }
  ~Damage() override { EXPECT_EQ(open_objects(), 0); }

  void put(const std::string& bytes) {
    io::File file(path_, io::File::Mode::create);
    file.write_at(0, bytes.data(), bytes.size());
  }

  std::string refusal() {
    try {
      verify_user_block(path_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  /// Flips one bit of the byte in place, expects a refusal, flips it back.
  void expect_flip_refused(io::File& file, std::size_t at) {
    const char flipped = static_cast<char>(whole_[at] ^ (1 << (at % 8)));
    file.write_at(at, &flipped, 1);
    EXPECT_NE(refusal(), "") << "a flipped bit in byte " << at;
    file.write_at(at, &whole_[at], 1);
  }

  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "a.h5";
  std::string whole_;
};

TEST_F(Damage, EveryFlippedByteOfUserBlockMetadataAndTrailerIsRefused) {
  ASSERT_EQ(refusal(), "");
  io::File file(path_, io::File::Mode::read_write);
  const std::size_t trailer = word_at(whole_, 24);
  for (std::size_t at = 0; at < 512; ++at) {
    expect_flip_refused(file, at);
  }
  for (std::size_t at = trailer; at < whole_.size(); ++at) {
    expect_flip_refused(file, at);
  }
  std::size_t metadata_bytes = 0;
  for (std::uint64_t i = 0; i < word_at(whole_, trailer + 8); ++i) {
    const std::uint64_t offset = word_at(whole_, trailer + 32 + 16 * i);
    const std::uint64_t bytes = word_at(whole_, trailer + 40 + 16 * i);
    metadata_bytes += bytes;
    for (std::uint64_t at = offset; at < offset + bytes; ++at) {
      expect_flip_refused(file, at);
    }
  }
  EXPECT_GT(metadata_bytes, 1000U);
  EXPECT_LT(metadata_bytes, 10'000U);
  ASSERT_EQ(refusal(), "") << "the file is whole again";
}

TEST_F(Damage, TheListedMetadataIsAllThatTheLibraryNeeds) {
  // Everything that is neither listed nor raw data may be garbage.
  const std::size_t trailer = word_at(whole_, 24);
  std::string garbled = whole_;
  std::vector<bool> needed(trailer, false);
  const auto need = [&](std::uint64_t offset, std::uint64_t bytes) {
    for (std::uint64_t at = offset; at < offset + bytes; ++at) {
      needed.at(at) = true;
    }
  };
  need(0, 512);
  for (std::uint64_t i = 0; i < word_at(whole_, trailer + 8); ++i) {
    need(word_at(whole_, trailer + 32 + 16 * i), word_at(whole_, trailer + 40 + 16 * i));
  }
  for (std::size_t at = 0; at < trailer; ++at) {
    garbled[at] = needed[at] ? garbled[at] : '\xee';
  }
  put(garbled);
  const Reader reader(path_);
  EXPECT_EQ(reader.datasets("/").size(), 3U);
  EXPECT_EQ(reader.text_attribute("/", "deck"), "[run]");
  std::vector<float> values(1000);
  reader.read("/weights/w", Dtype::f32, values.data());
  reader.read_chunk("/weights/t", {0}, values.data(), 16);
}

TEST_F(Damage, EveryCutAndEveryAddedByteIsRefused) {
  for (std::size_t bytes = 0; bytes < whole_.size(); bytes += bytes < 600 ? 1 : 997) {
    put(whole_.substr(0, bytes));
    EXPECT_NE(refusal(), "") << "cut to " << bytes;
  }
  put(whole_.substr(0, whole_.size() - 1));
  EXPECT_THAT(refusal(), HasSubstr("it was written with " + std::to_string(whole_.size())));
  put(whole_ + "x");
  EXPECT_THAT(refusal(), HasSubstr("it has " + std::to_string(whole_.size() + 1) + " bytes"));
}

TEST_F(Damage, MessagesNameTheFileAndWhatIsWrong) {
  put("");
  EXPECT_THAT(refusal(), HasSubstr("`" + path_ + "` is damaged (it has 0 bytes"));
  put(std::string(512, '\0') + whole_.substr(512));
  EXPECT_THAT(refusal(), HasSubstr("its writer never finished it"));
  put(std::string(whole_.size(), '\0'));
  EXPECT_THAT(refusal(), HasSubstr("its writer never finished it"));
  put("not HDF5 at all, " + std::string(1000, 'x'));
  EXPECT_THAT(refusal(), HasSubstr("does not begin as a file written by Trireme"));
  EXPECT_THROW(Reader{path_}, InputError);
  EXPECT_THROW((Reader{path_, Reader::Verify::none}), InputError);
}

TEST_F(Damage, ForgedUserBlocksWithImpossiblePlacesAreRefused) {
  const auto forged = [&](std::size_t offset, std::uint64_t word) {
    std::string bytes = whole_;
    std::memcpy(bytes.data() + offset, &word, sizeof(word));
    const io::Hash128 hash = io::hash128(bytes.data(), 496);
    std::memcpy(bytes.data() + 496, &hash, sizeof(hash));
    put(bytes);
    return refusal();
  };
  EXPECT_THAT(forged(8, 2), HasSubstr("has version 2 of the file layout (this program knows version 1)"));
  for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{31}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    EXPECT_THAT(forged(24, word), HasSubstr("impossible place")) << word;
    EXPECT_THAT(forged(32, word), HasSubstr("impossible place")) << word;
  }
}

TEST_F(Damage, ForgedExtentsAreRefused) {
  const std::size_t trailer = word_at(whole_, 24);
  const auto forged = [&](std::size_t offset, std::uint64_t word) {
    std::string bytes = whole_;
    std::memcpy(bytes.data() + trailer + offset, &word, sizeof(word));
    const io::Hash128 trailer_hash = io::hash128(bytes.data() + trailer, bytes.size() - trailer);
    std::memcpy(bytes.data() + 40, &trailer_hash, sizeof(trailer_hash));
    const io::Hash128 hash = io::hash128(bytes.data(), 496);
    std::memcpy(bytes.data() + 496, &hash, sizeof(hash));
    put(bytes);
    return refusal();
  };
  EXPECT_THAT(forged(8, ~std::uint64_t{0}), HasSubstr("impossible length"));
  EXPECT_THAT(forged(8, 0), HasSubstr("impossible length"));
  for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{1} << 50, ~std::uint64_t{0}}) {
    EXPECT_THAT(forged(32, word), HasSubstr("impossible place")) << word;
  }
  EXPECT_THAT(forged(40, ~std::uint64_t{0}), HasSubstr("impossible place"));
  EXPECT_THAT(forged(40, 1), HasSubstr("does not match the hash"));
}

TEST_F(Damage, AnAbandonedFileIsRefused) {
  {
    Writer writer(path_);
    writer.create("/w", {1000}, Dtype::f32);
    writer.write("/w", std::vector<float>(1000, 1.5F).data());
  }
  EXPECT_THAT(refusal(), HasSubstr("never finished"));
}

TEST_F(Damage, UnverifiedFilesMayBeDamagedWithoutACrash) {
  // The library's own checks are all there is for files of other programs.
  put(whole_.substr(0, whole_.size() / 2));
  EXPECT_THROW((Reader{path_, Reader::Verify::none}), InputError);
}

}  // namespace
}  // namespace trireme::hdf5
