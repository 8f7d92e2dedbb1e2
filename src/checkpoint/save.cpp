// A save, from the plan to the commit. Every step ends in an agreement of all ranks, so they fail or go on together.
#include <chrono>
#include <cstring>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/units.hpp"
#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/comm/hosts.hpp"
#include "trireme/io/file.hpp"

#include "checkpoint/folder.hpp"
#include "checkpoint/index.hpp"
#include "checkpoint/plan.hpp"
#include "checkpoint/shard_writer.hpp"

namespace trireme::checkpoint {
namespace {

void check_options(const CheckpointOptions& options) {
  if (options.ranks_per_file < 1 && options.ranks_per_file != ranks_of_a_node) {
    throw InputError(
        fmt::format("`checkpoint.ranks_per_file` is `{}` (it must be at least 1)", options.ranks_per_file));
  }
  if (options.asynchronous) {
    throw InputError(
        "`checkpoint.asynchronous = true` (this build writes checkpoints while the run waits) set it to false");
  }
}

class Save {
 public:
  Save(comm::Communicator& world, std::string folder, const Metadata& metadata, std::span<const Piece> pieces,
       const CheckpointOptions& options);
  std::uint64_t run(const std::function<void()>& may_commit);

 private:
  /// Rank 0 makes the plan, every rank gets its part of it.
  void make_parts(std::int64_t ranks_per_file);
  void write_all(const std::function<void()>& may_commit);
  void prepare_staging() const;
  StoredShard write_shard();
  void gather_shards(const StoredShard& mine);
  void check_shards() const;
  void commit(const std::function<void()>& may_commit);
  void put_in_place() const;
  void drop_staging() const;
  [[nodiscard]] std::uint64_t needed_bytes() const;
  /// Runs work on every rank; the lowest rank's failure is thrown on all and names that rank.
  void on_each_rank(const std::function<void()>& work);

  comm::Communicator& world_;
  std::string folder_;
  std::span<const Piece> pieces_;
  Plan plan_;  ///< on rank 0 only
  PlanPart part_;
  Index index_;
  std::string attempt_;
  std::string staging_;
};

Save::Save(comm::Communicator& world, std::string folder, const Metadata& metadata, std::span<const Piece> pieces,
           const CheckpointOptions& options)
    : world_(world), folder_(std::move(folder)), pieces_(pieces) {
  make_parts(options.ranks_per_file);
  comm::on_root(world, [&] { index_.save_id = random_id(); });
  world.broadcast_text(index_.save_id, 0);
  comm::on_all(world, [&] {
    index_.metadata = metadata;
    attempt_ = index_.save_id.substr(0, 8);
    staging_ = fmt::format("{}/.staging_{:08}.{}", folder_, metadata.step, attempt_);
  });
}

void Save::make_parts(std::int64_t ranks_per_file) {
  std::string mine;
  comm::on_all(world_, [&] { mine = describe(pieces_); });
  const std::vector<std::string> given = world_.gather_text(mine, 0);
  const std::vector<std::int32_t> hosts =
      ranks_per_file == ranks_of_a_node ? comm::host_leaders(world_) : std::vector<std::int32_t>{};
  std::vector<std::string> parts;
  comm::on_root(world_, [&] {
    plan_ = make_plan(given, ranks_per_file, hosts);
    for (int rank = 0; rank < world_.size(); ++rank) parts.push_back(text_of(part_of(plan_, rank)));
  });
  mine = world_.scatter_text(parts, 0);
  comm::on_all(world_, [&] { part_ = parse_part(mine); });
}

std::uint64_t Save::needed_bytes() const {
  return save_bytes(part_.payload_bytes, part_.num_shards);
}

void Save::on_each_rank(const std::function<void()>& work) {
  comm::on_all(world_, [&] {
    try {
      work();
    } catch (const comm::CommunicationError&) {
      throw;
    } catch (const std::exception& error) {
      throw SystemError(fmt::format("rank {}: {}", world_.rank(), error.what()));
    }
  });
}

std::uint64_t Save::run(const std::function<void()>& may_commit) {
  try {
    write_all(may_commit);
  } catch (const comm::CommunicationError&) {
    throw;  // of this rank alone, it may be: the others could wait for ever in anything that is done together now
  } catch (const Error& error) {
    if (world_.rank() == 0) drop_staging();
    throw SystemError(
        fmt::format("the checkpoint of step {} was not saved in `{}` ({}) it takes {}; older ones are as they "
                    "were",
                    index_.metadata.step, folder_, error.what(), format_bytes(needed_bytes())));
  }
  return index_.total_bytes();
}

void Save::write_all(const std::function<void()>& may_commit) {
  const auto root_only = [&](const std::function<void()>& work) {
    on_each_rank([&] {
      if (world_.rank() == 0) work();
    });
  };
  root_only([&] { prepare_staging(); });
  gather_shards(write_shard());
  root_only([&] { commit(may_commit); });
}

/// Rank 0: room and a folder for the new files.
void Save::prepare_staging() const {
  const bool is_new = !io::is_folder(folder_);
  io::make_folders(folder_);
  if (is_new) io::sync_folder(io::parent_of(folder_));
  const std::uint64_t free = io::free_bytes(folder_);
  if (free < needed_bytes()) {
    throw SystemError(fmt::format("`{}` has too little room (needed {} bytes, free {}) free space there", folder_,
                                  needed_bytes(), free));
  }
  io::make_folder(staging_);
}

StoredShard Save::write_shard() {
  std::unique_ptr<ShardWriter> writer;
  StoredShard mine;
  on_each_rank([&] {
    writer =
        std::make_unique<ShardWriter>(world_, part_, pieces_, SaveMark{index_.save_id, index_.metadata.step}, staging_);
  });
  writer->stream();
  on_each_rank([&] { mine = writer->finish(); });
  return mine;
}

void Save::gather_shards(const StoredShard& mine) {
  const bool is_writer = world_.rank() == part_.writer;
  const std::vector<std::string> given =
      world_.gather_text(is_writer ? std::string(reinterpret_cast<const char*>(&mine), sizeof mine) : std::string(), 0);
  if (world_.rank() != 0) return;
  index_.shards.resize(plan_.groups.size());
  for (std::int64_t shard = 0; shard < plan_.num_shards(); ++shard) {
    const std::string& of_shard = given[static_cast<std::size_t>(plan_.writer_of(shard))];
    std::memcpy(&index_.shards[static_cast<std::size_t>(shard)], of_shard.data(), sizeof mine);
  }
}

/// Rank 0 sees with its own eyes that every shard is there in full.
void Save::check_shards() const {
  for (std::size_t shard = 0; shard < index_.shards.size(); ++shard) {
    const io::File file(staging_ + "/" + shard_name(static_cast<std::int64_t>(shard)), io::File::Mode::read);
    if (file.size() != index_.shards[shard].bytes) {
      throw SystemError(
          fmt::format("`{}` has {} bytes (its writer says {})", file.path(), file.size(), index_.shards[shard].bytes));
    }
  }
}

/// Rank 0: writes the index and makes all of it durable and visible in one rename.
void Save::commit(const std::function<void()>& may_commit) {
  index_.tensors = plan_.tensors;
  index_.pieces = plan_.pieces;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  index_.written_unix_s = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  index_.index_bytes = write_index(staging_ + "/" + index_name, index_).bytes;
  check_shards();
  io::sync_folder(staging_);
  if (may_commit) may_commit();
  put_in_place();
}

void Save::put_in_place() const {
  const std::string target = step_folder(folder_, index_.metadata.step);
  const std::string aside = fmt::format("{}/damaged_{}.{}", folder_, step_name(index_.metadata.step), attempt_);
  const bool was_there = io::exists(target);
  if (was_there) io::rename(target, aside);
  try {
    io::rename(staging_, target);
    io::sync_folder(folder_);
  } catch (const Error&) {
    // Back to how it was: a failed save must leave no trace, and the old folder its name.
    if (!io::exists(staging_)) io::rename(target, staging_);
    if (was_there) io::rename(aside, target);
    throw;
  }
}

void Save::drop_staging() const {
  try {
    io::remove_tree(staging_);
  } catch (const std::exception&) {
    // The first failure is the one to tell; the next start's clean_staging() tries again.
  }
}

}  // namespace

std::uint64_t save(comm::Communicator& world, const std::string& folder, const Metadata& metadata,
                   std::span<const Piece> pieces, const CheckpointOptions& options,
                   const std::function<void()>& may_commit) {
  check_options(options);
  Save save(world, folder, metadata, pieces, options);
  return save.run(may_commit);
}

}  // namespace trireme::checkpoint
