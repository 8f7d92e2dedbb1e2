// Saves by some ranks, loads by others; failures of one rank that all must hear of.
#include <cerrno>
#include <filesystem>
#include <functional>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "trireme/base/error.hpp"
#include "trireme/base/timer.hpp"
#include "trireme/io/file.hpp"

#include "checkpoint/folder.hpp"
#include "parallel/parallel.hpp"
#include "unit/checkpoint/sample.hpp"

namespace trireme::checkpoint::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RanksCheckpoint : public ::testing::Test {
 protected:
  RanksCheckpoint() {
    std::string id = fmt::format("{}/trireme_ranks_{}", std::filesystem::temp_directory_path().string(), ::getpid());
    world_.broadcast_text(id, 0);
    folder_ = id;
    comm::on_root(world_, [&] { io::remove_tree(folder_); });
  }
  ~RanksCheckpoint() override {
    io::set_fault_hook({});
    world_.barrier();
    if (world_.rank() == 0) io::remove_tree(folder_);
    world_.barrier();
  }

  /// Saves the sample held by the first ranks; every rank returns.
  void save_by(int num_ranks, std::int64_t step, std::int64_t ranks_per_file = 1) {
    const auto some = world_.split([&](int rank) { return rank < num_ranks ? 0 : 1; });
    if (world_.rank() < num_ranks) {
      const Holding mine = part_of(some->rank(), num_ranks);
      CheckpointOptions options;
      options.ranks_per_file = ranks_per_file;
      save(*some, folder_, sample_metadata(step), mine.pieces(), options);
    }
    world_.barrier();
  }

  void expect_load_by(int num_ranks, std::int64_t step) {
    const auto some = world_.split([&](int rank) { return rank < num_ranks ? 0 : 1; });
    if (world_.rank() < num_ranks) {
      Reader reader(*some, step_folder(folder_, step));
      Holding mine = empty_columns(some->rank(), num_ranks);
      reader.read(mine.pieces());
      EXPECT_THAT(mine.first_wrong(), IsEmpty());
      EXPECT_EQ(reader.metadata().tokens, sample_metadata(step).tokens);
      EXPECT_EQ(reader.metadata().loss_scale, sample_metadata(step).loss_scale);
      EXPECT_EQ(reader.metadata().tokenizer_model, sample_metadata(step).tokenizer_model);
    }
    world_.barrier();
  }

  /// Every rank's error text.
  std::vector<std::string> errors_of(const std::function<void()>& work) {
    std::string text;
    try {
      work();
    } catch (const Error& error) {
      text = fmt::format("{}: {}", static_cast<int>(error.code()), error.what());
    }
    return world_.all_gather_text(text);
  }

  comm::Communicator& world_ = trireme::testing::world();
  std::string folder_;
};

TEST_F(RanksCheckpoint, AnyNumberOfRanksLoadsWhatAnyNumberSaved) {
  std::int64_t step = 0;
  for (int savers = 1; savers <= world_.size(); ++savers) {
    save_by(savers, ++step);
    for (int loaders = 1; loaders <= world_.size(); ++loaders) expect_load_by(loaders, step);
  }
}

TEST_F(RanksCheckpoint, RanksThatShareAFileSaveTheSame) {
  const int num_ranks = world_.size();
  save_by(num_ranks, 1);
  for (const std::int64_t ranks_per_file : {2, 3, 100}) {
    save_by(num_ranks, 1 + ranks_per_file, ranks_per_file);
    const std::string path = step_folder(folder_, 1 + ranks_per_file);
    const std::int64_t num_shards = (num_ranks + ranks_per_file - 1) / ranks_per_file;
    EXPECT_EQ(static_cast<std::int64_t>(io::list_folder(path).size()), num_shards + 1);
    EXPECT_TRUE(verify(path).empty());
    expect_load_by(num_ranks, 1 + ranks_per_file);
  }
}

TEST_F(RanksCheckpoint, TheRanksOfAHostShareAFile) {
  save_by(world_.size(), 1, ranks_of_a_node);
  EXPECT_EQ(io::list_folder(step_folder(folder_, 1)).size(), 2U);  // this is one host
  EXPECT_TRUE(verify(step_folder(folder_, 1)).empty());
  expect_load_by(world_.size(), 1);
}

TEST_F(RanksCheckpoint, NothingIsThereUnderItsNameWhileAnyRankStillWrites) {
  const int slow = world_.size() - 1;
  bool was_seen = false;
  int looked = 0;
  io::set_fault_hook([&](const char*, const std::string& path, std::size_t*) {
    if (world_.rank() != slow || path.find("shard_") == std::string::npos) return 0;
    if (looked++ == 0) ::usleep(300000);  // the others are done by now
    was_seen = was_seen || std::filesystem::exists(step_folder(folder_, 1));
    return 0;
  });
  save_by(world_.size(), 1);
  io::set_fault_hook({});
  EXPECT_FALSE(was_seen);
  EXPECT_TRUE(world_.rank() != slow || looked > 3 || world_.size() == 1);
  EXPECT_EQ(list_steps(folder_), std::vector<std::int64_t>{1});
}

TEST_F(RanksCheckpoint, AFullDiskOnOneRankIsToldByAllAndLeavesNothing) {
  save_by(world_.size(), 1);
  std::string before;
  comm::on_root(world_, [&] { before = contents(folder_); });
  const int failing = world_.size() - 1;
  for (const std::int64_t ranks_per_file : {1, 2}) {
    const int writer = static_cast<int>(failing / ranks_per_file * ranks_per_file);
    if (world_.rank() == writer) {
      io::set_fault_hook([](const char* call, const std::string& path, std::size_t*) {
        return std::string(call) == "pwrite" && path.find("shard_") != std::string::npos ? ENOSPC : 0;
      });
    }
    const Timer timer;
    const auto errors = errors_of([&] { save_by(world_.size(), 2, ranks_per_file); });
    io::set_fault_hook({});
    EXPECT_LT(timer.seconds(), 10);
    EXPECT_THAT(errors, Each(errors.front()));
    EXPECT_THAT(errors.front(), AllOf(HasSubstr("3: "), HasSubstr(fmt::format("rank {}: ", writer)),
                                      HasSubstr("shard_"), HasSubstr("needed"), HasSubstr("free")));
    if (world_.rank() == 0) {
      EXPECT_TRUE(contents(folder_) == before);
    }
    world_.barrier();
  }
}

TEST_F(RanksCheckpoint, ARankThatFailsBetweenItsMessagesLeavesNobodyWaiting) {
  save_by(world_.size(), 1);
  for (const std::int64_t ranks_per_file : {1, 2, 100}) {
    for (const int failing : {0, world_.size() / 2, world_.size() - 1}) {
      for (const int number : {0, 1, 3}) {
        int calls = 0;
        io::set_fault_hook([&](const char* call, const std::string&, std::size_t*) {
          if (world_.rank() != failing || std::string(call) != "stream") return 0;
          return calls++ == number ? ENOMEM : 0;
        });
        const auto errors = errors_of([&] { save_by(world_.size(), 2, ranks_per_file); });
        io::set_fault_hook({});
        EXPECT_THAT(errors, Each(errors.front()));
        EXPECT_THAT(errors.front(), HasSubstr(fmt::format("rank {}: ", failing)));
      }
    }
  }
  world_.barrier();
  EXPECT_EQ(list_steps(folder_), std::vector<std::int64_t>{1});
  save_by(world_.size(), 2);
  expect_load_by(world_.size(), 2);
}

TEST_F(RanksCheckpoint, AFileThatOneRankCannotOpenStopsTheSaveOfAll) {
  if (world_.rank() == world_.size() - 1) {
    io::set_fault_hook([](const char* call, const std::string& path, std::size_t*) {
      return std::string(call) == "open" && path.find("shard_") != std::string::npos ? EACCES : 0;
    });
  }
  const auto errors = errors_of([&] { save_by(world_.size(), 2); });
  io::set_fault_hook({});
  EXPECT_THAT(errors, Each(errors.front()));
  EXPECT_THAT(errors.front(), HasSubstr(fmt::format("rank {}: ", world_.size() - 1)));
  EXPECT_THAT(io::list_folder(folder_), IsEmpty());
}

TEST_F(RanksCheckpoint, AShardThatOneRankCannotReadStopsTheLoadOfAll) {
  save_by(world_.size(), 1);
  Reader reader(world_, folder_);
  if (world_.rank() == world_.size() - 1) {
    io::set_fault_hook([](const char* call, const std::string& path, std::size_t*) {
      return std::string(call) == "stat" && path.find("shard_") != std::string::npos ? EIO : 0;
    });
  }
  Holding mine = empty_columns(world_.rank(), world_.size());
  const auto errors = errors_of([&] { reader.read(mine.pieces()); });
  EXPECT_THAT(errors, Each(errors.front()));
  EXPECT_THAT(errors.front(), AllOf(HasSubstr("3: "), HasSubstr("shard_")));
}

TEST_F(RanksCheckpoint, DamageIsAnInputErrorOnAllRanks) {
  save_by(world_.size(), 1);
  const std::string path = step_folder(folder_, 1);
  const std::string shard = path + "/" + shard_name(world_.size() - 1);
  comm::on_root(world_, [&] { io::File(shard, io::File::Mode::read_write).truncate(100); });
  Holding mine = empty_columns(world_.rank(), world_.size());
  auto errors = errors_of([&] {
    Reader reader(world_, path);
    reader.read(mine.pieces());
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("2: "), HasSubstr(shard))));
  comm::on_root(world_, [&] { io::remove_file(path + "/index.h5"); });
  errors = errors_of([&] { const Reader reader(world_, path); });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("2: "), HasSubstr("index.h5"))));
}

TEST_F(RanksCheckpoint, PiecesGivenTwiceAreRefusedByAll) {
  if (world_.size() == 1) return;
  const Holding all = everything();
  const auto errors = errors_of([&] { save(world_, folder_, sample_metadata(1), all.pieces(), {}); });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("exactly once"), HasSubstr("`moments/first/embedding.weight`"))));
}

TEST_F(RanksCheckpoint, ALostLockForbidsTheCommitOnAllRanks) {
  const Holding mine = part_of(world_.rank(), world_.size());
  const auto errors = errors_of([&] {
    save(world_, folder_, sample_metadata(1), mine.pieces(), {}, [] { throw SystemError("lost the lock"); });
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("3: "), HasSubstr("lost the lock"))));
  EXPECT_THAT(io::list_folder(folder_), IsEmpty());
}

}  // namespace
}  // namespace trireme::checkpoint::test
