// The folder of a run, and its lock.
#pragma once

#include <memory>
#include <string>

#include "trireme/checkpoint/run_lock.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/config/deck.hpp"

namespace trireme::train {

/// Paths inside run.output.
struct RunPaths {
  explicit RunPaths(std::string run_folder) : folder(std::move(run_folder)) {}
  std::string folder;
  [[nodiscard]] std::string checkpoints() const { return folder + "/checkpoints"; }
  [[nodiscard]] std::string metrics() const { return folder + "/metrics.jsonl"; }
  [[nodiscard]] std::string log() const { return folder + "/log.txt"; }
  [[nodiscard]] std::string deck() const { return folder + "/resolved.toml"; }
  [[nodiscard]] std::string attempts() const { return folder + "/attempts.tsv"; }
  [[nodiscard]] std::string grid() const { return folder + "/grid.tsv"; }
  [[nodiscard]] std::string fingerprints() const { return folder + "/fingerprints"; }
  [[nodiscard]] std::string stop_file() const { return folder + "/stop"; }
  [[nodiscard]] std::string save_file() const { return folder + "/save"; }
};

/// Makes the folder and takes its lock on rank 0, removes what dead attempts left, starts log.txt, which stays
/// open for whoever says why a run failed. Collective; the lock is held (by rank 0) until destruction.
class RunFolder {
 public:
  RunFolder(comm::Communicator& world, const config::Deck& deck);
  ~RunFolder();
  [[nodiscard]] const RunPaths& paths() const noexcept { return paths_; }
  /// Rank 0: throws when another process has taken the folder.
  void check_lock() const;

 private:
  RunPaths paths_;
  std::unique_ptr<checkpoint::RunLock> lock_;
};

}  // namespace trireme::train
