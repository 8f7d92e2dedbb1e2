// The folder of a run: its lock, its checkpoints, and from where the run goes on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/checkpoint/run_lock.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/data/token_file.hpp"

namespace trireme::train {

/// Paths inside run.output.
struct RunPaths {
  explicit RunPaths(std::string run_folder) : folder(std::move(run_folder)) {}
  std::string folder;
  [[nodiscard]] std::string checkpoints() const { return folder + "/checkpoints"; }
  [[nodiscard]] std::string metrics() const { return folder + "/metrics.jsonl"; }
  [[nodiscard]] std::string log() const { return folder + "/log.txt"; }
  [[nodiscard]] std::string deck() const { return folder + "/resolved.toml"; }
  [[nodiscard]] std::string grid() const { return folder + "/grid.tsv"; }
  [[nodiscard]] std::string stop_file() const { return folder + "/stop"; }
  [[nodiscard]] std::string save_file() const { return folder + "/save"; }
};

/// Makes the folder and takes its lock on rank 0, removes what dead attempts left, starts log.txt. Collective; the lock
/// is held (by rank 0) until destruction or release().
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

/// The folders of checkpoints that run.resume allows, best first; empty for a fresh start.
/// `auto`: all of the run, newest first. `never`: a folder with checkpoints is refused. A path: that one. Collective.
[[nodiscard]] std::vector<std::string> resume_candidates(comm::Communicator& world, const config::Deck& deck,
                                                         const RunPaths& paths);

/// Refuses a deck that is another model than the checkpoint's, every difference named; lists what else changed.
void check_resume(const config::Deck& deck, const checkpoint::Metadata& stored);

/// Opens the first sound candidate and hands it to `load`; damaged ones are named and passed over. A single candidate's
/// damage, and damage to all, is an InputError: a run never silently starts again from step 0. Another model, or
/// training data of another tokenizer, is one too. Collective.
checkpoint::Metadata resume(comm::Communicator& world, const config::Deck& deck, const data::TokenFileInfo& training,
                            const std::vector<std::string>& candidates,
                            const std::function<void(checkpoint::Reader&)>& load);

}  // namespace trireme::train
