// Checkpoints: committed or absent, one global object, any grid to any grid. The files are documented in
// src/checkpoint/FORMAT.md. This module sees a table of named arrays, not the model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trireme/checkpoint/options.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/tensor/parameter.hpp"

namespace trireme::checkpoint {

/// A rectangle of a global tensor in this rank's host memory, contiguous and row-major.
struct Piece {
  std::string name;  ///< `weights/<name>`, `moments/first/<name>`, `moments/second/<name>`
  tensor::Shape global_shape;
  Dtype dtype = Dtype::f32;
  tensor::Shard rectangle;
  void* data = nullptr;
};

/// What a checkpoint knows besides its tensors.
struct Metadata {
  std::int64_t step = 0;     ///< updates done
  std::int64_t samples = 0;  ///< position in the data: training samples consumed
  std::int64_t tokens = 0;   ///< counted tokens so far
  std::int64_t skipped = 0;  ///< updates skipped so far
  double loss_scale = 1;
  std::int64_t loss_scale_good_steps = 0;
  std::string deck;  ///< the resolved deck, TOML
  std::string tokenizer_kind;
  std::string tokenizer_model;
  std::string build;               ///< version and commit
  std::string isa;                 ///< instruction set of the run
  std::string precision = "fp32";  ///< what the run computed in: `fp32`, `bf16`, `fp16`; stored weights are fp32
  std::string grid;                ///< `2x1x1`, for people only
};

/// Name and whole shape of a stored tensor.
struct TensorInfo {
  std::string name;
  tensor::Shape shape;
  Dtype dtype = Dtype::f32;
};

/// Writes checkpoints/step_XXXXXXXX under `folder` (a run's `checkpoints` folder, made if absent) and commits it:
/// stage, fsync, check on rank 0, rename, fsync. Each logical element must be given by exactly one rank; may_commit is
/// asked on rank 0 just before the rename (the lock) and throws to forbid it. Collective over world. On any failure the
/// staging folder is removed, older checkpoints stay as they are, and every rank throws the same SystemError. Returns
/// the bytes of the checkpoint.
std::uint64_t save(comm::Communicator& world, const std::string& folder, const Metadata& metadata,
                   std::span<const Piece> pieces, const CheckpointOptions& options,
                   const std::function<void()>& may_commit = {});

/// Bytes of a checkpoint of `payload_bytes` of tensors in so many shards, from above.
[[nodiscard]] std::uint64_t save_bytes(std::uint64_t payload_bytes, std::int64_t num_shards);

/// The most checkpoints that a run from first_step to last_step adds at any time to the `num_there` that are there: an
/// older one goes only when its successor is committed.
[[nodiscard]] std::int64_t most_added(const CheckpointOptions& options, std::int64_t num_there, std::int64_t first_step,
                                      std::int64_t last_step);

/// What is wrong with the room in `folder` for those checkpoints of `bytes` each; empty when they fit. One process.
[[nodiscard]] std::string room_problem(const std::string& folder, const CheckpointOptions& options, std::uint64_t bytes,
                                       std::int64_t first_step, std::int64_t last_step);

/// Removes older checkpoints: keeps the newest `keep` up to `newest_step` and those of keep_every_steps, in numeric
/// order; never `newest_step` itself, never higher steps, never foreign names. Rank 0 only (no communication).
void rotate(const std::string& folder, const CheckpointOptions& options, std::int64_t newest_step);

/// Removes staging leftovers of dead attempts. Rank 0, with the run's lock held.
void clean_staging(const std::string& folder);

/// Path of a step's folder: `<folder>/step_00000100`.
[[nodiscard]] std::string step_folder(const std::string& folder, std::int64_t step);

/// Steps of the committed-looking folders under `folder`, ascending (no content is read).
[[nodiscard]] std::vector<std::int64_t> list_steps(const std::string& folder);

/// A checkpoint opened for loading: rank 0 reads and verifies index.h5 and broadcasts it. Collective.
class Reader {
 public:
  /// Throws InputError naming file and reason, the same on all ranks.
  Reader(comm::Communicator& world, const std::string& path);
  ~Reader();
  [[nodiscard]] const Metadata& metadata() const noexcept;
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const noexcept;
  /// Fills the pieces (name, shape, dtype, rectangle, data given) from whatever shards hold them, every tile's hash
  /// checked. Ranks may ask for any rectangles, also overlapping, also none. Memory: the pieces plus a fixed buffer.
  /// Collective; any rank's failure is thrown on all.
  void read(std::span<const Piece> pieces);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A finding of verify(): which file or tensor is bad, and how.
struct Damage {
  std::string file;
  std::string what;
};

/// Reads everything in the checkpoint: structure, sizes, every hash, finite values. Empty when sound. One process.
[[nodiscard]] std::vector<Damage> verify(const std::string& path);

/// The text of `trireme checkpoint list|show|verify|diff`; each returns the exit code and prints to standard output.
/// path: a run folder, its checkpoints folder (the newest), or a step folder. with_statistics reads every tensor.
int print_list(const std::string& path);
int print_show(const std::string& path, bool with_statistics);
int print_verify(const std::string& path);
int print_diff(const std::string& a, const std::string& b);

/// A step folder for a path as above. Throws InputError when there is none.
[[nodiscard]] std::string find_checkpoint(const std::string& path);

}  // namespace trireme::checkpoint
