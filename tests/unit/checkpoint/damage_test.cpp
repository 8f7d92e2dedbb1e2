// Every damage is refused with the name of the file, by verify and by a load; the older checkpoint stays as it was.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"
#include "trireme/io/file.hpp"

#include "checkpoint/index.hpp"
#include "checkpoint/shard_reader.hpp"
#include "unit/checkpoint/sample.hpp"
#include "unit/io/temporary_folder.hpp"

namespace trireme::checkpoint::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string all_findings(const std::string& path) {
  std::string text;
  for (const Damage& damage : verify(path)) text += damage.file + ": " + damage.what + "\n";
  return text;
}

void flip_bit(const std::string& path, std::uint64_t byte, int bit) {
  io::File file(path, io::File::Mode::read_write);
  unsigned char value = 0;
  file.read_at(byte, &value, 1);
  value = static_cast<unsigned char>(value ^ (1U << bit));
  file.write_at(byte, &value, 1);
}

/// Where the bytes lie in the file, -1 when nowhere.
std::int64_t place_of(const std::string& path, const void* data, std::size_t bytes) {
  const std::string text = io::read_text(path);
  const std::size_t at = text.find(std::string_view(static_cast<const char*>(data), bytes));
  return at == std::string::npos ? -1 : static_cast<std::int64_t>(at);
}

/// A tile of the sample as it lies in its shard.
struct Tile {
  std::string tensor;
  std::int64_t place = 0;
  std::size_t bytes = 0;
};

std::vector<Tile> tiles_of(const std::string& folder) {
  const Index index = read_index(folder);
  const std::string path = folder + "/shard_00000.h5";
  const std::string text = io::read_text(path);
  const ShardReader reader(folder, index, 0);
  std::vector<Tile> tiles;
  std::vector<std::byte> data;
  for (const StoredPiece& piece : index.pieces) {
    const TileGrid grid(piece.rectangle, piece.tile);
    for (std::int64_t number = 0; number < grid.count(); ++number) {
      reader.read_tile(piece, number, data);
      const std::size_t at = text.find(std::string_view(reinterpret_cast<const char*>(data.data()), data.size()));
      tiles.push_back({index.tensor_of(piece).name, static_cast<std::int64_t>(at), data.size()});
    }
  }
  return tiles;
}

class DamagedCheckpoint : public testing::Test {
 protected:
  DamagedCheckpoint()
      : older_(save_sample(checkpoints_, 100)),
        newer_(save_sample(checkpoints_, 200)),
        older_bytes_(contents(older_)) {}
  ~DamagedCheckpoint() override {
    EXPECT_EQ(contents(older_), older_bytes_);
    EXPECT_THAT(load_problem(older_), IsEmpty());
  }

  /// Both a load and verify name the file (and, if given, the tensor).
  void expect_refused(const std::string& file, const std::string& also = "") const {
    EXPECT_THAT(load_problem(newer_), AllOf(HasSubstr(file), HasSubstr(also)));
    EXPECT_THAT(all_findings(newer_), AllOf(HasSubstr(file), HasSubstr(also)));
  }
  /// Puts the undamaged file back after `work`.
  void with_file(const std::string& name, const std::function<void(const std::string&)>& work) const {
    const std::string path = newer_ + "/" + name;
    const std::string before = io::read_text(path);
    work(path);
    io::write_text_atomically(path, before);
  }

  trireme::test::TemporaryFolder folder_;
  std::string checkpoints_ = folder_ / "checkpoints";
  std::string older_;
  std::string newer_;
  std::string older_bytes_;
};

TEST_F(DamagedCheckpoint, SoundOnesHaveNoFindings) {
  EXPECT_THAT(all_findings(newer_), IsEmpty());
  EXPECT_THAT(load_problem(newer_), IsEmpty());
}

TEST_F(DamagedCheckpoint, CutFilesAreNamed) {
  for (const std::string name : {"shard_00000.h5", "index.h5"}) {
    const std::uint64_t bytes = io::File(newer_ + "/" + name, io::File::Mode::read).size();
    for (const std::uint64_t left : {bytes - 1, bytes / 2, std::uint64_t{0}}) {
      with_file(name, [&](const std::string& path) {
        io::File(path, io::File::Mode::read_write).truncate(left);
        expect_refused(name);
      });
    }
  }
}

TEST_F(DamagedCheckpoint, MissingFilesAreNamed) {
  for (const std::string name : {"shard_00000.h5", "index.h5"}) {
    with_file(name, [&](const std::string& path) {
      io::remove_file(path);
      expect_refused(name, "missing");
    });
  }
}

TEST_F(DamagedCheckpoint, AZeroedBeginningIsNamed) {
  for (const std::string name : {"shard_00000.h5", "index.h5"}) {
    with_file(name, [&](const std::string& path) {
      const std::string zeros(512, '\0');
      io::File(path, io::File::Mode::read_write).write_at(0, zeros.data(), zeros.size());
      expect_refused(name);
    });
  }
}

TEST_F(DamagedCheckpoint, AHundredFlippedBitsOfTensorsAreAHundredFindings) {
  const std::string path = newer_ + "/shard_00000.h5";
  const std::vector<Tile> tiles = tiles_of(newer_);
  const auto self = comm::make_self_communicator();
  std::mt19937_64 random(7);
  int detections = 0;
  for (int i = 0; i < 100; ++i) {
    const Tile& tile = tiles[random() % tiles.size()];
    ASSERT_GE(tile.place, 0);
    const std::uint64_t at = static_cast<std::uint64_t>(tile.place) + random() % tile.bytes;
    const int bit = static_cast<int>(random() % 8);
    flip_bit(path, at, bit);
    if (load_problem(newer_).find("tensor `" + tile.tensor + "` is damaged") != std::string::npos) ++detections;
    if (i % 20 == 0) {
      EXPECT_THAT(all_findings(newer_), HasSubstr("tensor `" + tile.tensor + "` is damaged"));
    }
    flip_bit(path, at, bit);
  }
  EXPECT_EQ(detections, 100);
}

TEST_F(DamagedCheckpoint, SwappedTilesOfOneTensorAreNamed) {
  std::vector<Tile> tiles = tiles_of(newer_);
  std::erase_if(tiles, [](const Tile& tile) { return tile.tensor != "weights/embedding.weight"; });
  ASSERT_GE(tiles.size(), 2U);
  with_file("shard_00000.h5", [&](const std::string& path) {
    std::string text = io::read_text(path);
    std::swap_ranges(text.begin() + tiles[0].place,
                     text.begin() + tiles[0].place + static_cast<std::int64_t>(tiles[0].bytes),
                     text.begin() + tiles[1].place);
    io::write_text_atomically(path, text);
    expect_refused("shard_00000.h5", "weights/embedding.weight");
  });
}

TEST_F(DamagedCheckpoint, FilesOfAnotherStepAreNamed) {
  for (const std::string name : {"shard_00000.h5", "index.h5"}) {
    with_file(name, [&](const std::string& path) {
      io::write_text_atomically(path, io::read_text(older_ + "/" + name));
      expect_refused(name, "step 100");
    });
  }
}

TEST_F(DamagedCheckpoint, AShardOfAnotherSaveOfTheSameStepIsNamed) {
  const std::string other = save_sample(folder_ / "other", 200);
  with_file("shard_00000.h5", [&](const std::string& path) {
    io::write_text_atomically(path, io::read_text(other + "/shard_00000.h5"));
    expect_refused("shard_00000.h5", "another save");
  });
}

TEST_F(DamagedCheckpoint, FlippedAttributesAreNamed) {
  for (const std::string name : {"shard_00000.h5", "index.h5"}) {
    with_file(name, [&](const std::string& path) {
      const std::string id = read_index(newer_).save_id;
      const std::int64_t place = place_of(path, id.data(), id.size());
      ASSERT_GE(place, 0);
      flip_bit(path, static_cast<std::uint64_t>(place) + 3, 1);
      expect_refused(name);
    });
  }
}

TEST_F(DamagedCheckpoint, AFlippedBitOfDeckTablesOrHashesIsNamed) {
  for (const std::string part : {"name = \"sample\"", "weights/embedding.weight\tfp32", "0\t0\t0\t0"}) {
    with_file("index.h5", [&](const std::string& path) {
      const std::int64_t place = place_of(path, part.data(), part.size());
      ASSERT_GE(place, 0) << part;
      flip_bit(path, static_cast<std::uint64_t>(place) + 1, 0);
      expect_refused("index.h5");
    });
  }
}

TEST_F(DamagedCheckpoint, StrangeFilesAndRenamedFoldersAreNamed) {
  io::write_text_atomically(newer_ + "/shard_00001.h5", "stray");
  EXPECT_THAT(all_findings(newer_), HasSubstr("shard_00001.h5"));
  EXPECT_THAT(load_problem(newer_), IsEmpty());
  const std::string renamed = checkpoints_ + "/step_00000500";
  std::filesystem::copy(newer_, renamed);
  EXPECT_THAT(load_problem(renamed), AllOf(HasSubstr("index.h5"), HasSubstr("step 200")));
  EXPECT_THAT(all_findings(renamed), HasSubstr("step 200"));
}

TEST_F(DamagedCheckpoint, NumbersThatAreNotFiniteAreFound) {
  Holding holding = everything();
  static_cast<float*>(holding.pieces()[0].data)[1234] = std::numeric_limits<float>::quiet_NaN();
  static_cast<std::uint16_t*>(holding.pieces()[8].data)[7] = 0x7f80;
  const auto self = comm::make_self_communicator();
  save(*self, checkpoints_, sample_metadata(300), holding.pieces(), {});
  EXPECT_THAT(all_findings(checkpoints_), AllOf(HasSubstr("`weights/embedding.weight` has 1 element not finite"),
                                                HasSubstr("`weights/half` has 1 element not finite")));
}

TEST_F(DamagedCheckpoint, RandomDamageOfAnyByteNeverCrashesNorPasses) {
  std::mt19937_64 random(11);
  for (const std::string name : {"index.h5", "shard_00000.h5"}) {
    for (int i = 0; i < 60; ++i) {
      with_file(name, [&](const std::string& path) {
        const std::uint64_t bytes = io::File(path, io::File::Mode::read).size();
        // The tensors' bytes have their own test; most metadata of a shard lies near its ends.
        const std::uint64_t span = std::min<std::uint64_t>(bytes, 20000);
        const std::uint64_t at = i % 2 == 0 ? random() % span : bytes - 1 - random() % span;
        flip_bit(path, at, static_cast<int>(random() % 8));
        const std::string problem = load_problem(newer_);
        // A byte between HDF5's objects means nothing, so such a flip may pass; a wrong element never may.
        EXPECT_THAT(problem, AnyOf(IsEmpty(), HasSubstr(name)));
      });
    }
  }
}

}  // namespace
}  // namespace trireme::checkpoint::test
