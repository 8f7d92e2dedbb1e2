// One writer per run folder.
#pragma once

#include <memory>
#include <string>

namespace trireme::checkpoint {

/// The lock of a run folder: a folder `lock` made by mkdir, holding host, boot id, pid with its start time, Slurm job
/// id and restart count, and a beat counter that a thread advances. Taken over only when the owner is surely gone: same
/// host and boot, no such process with that start time; or Slurm says that job (or that restart) has ended; or the beat
/// stood still for ten watched intervals. Otherwise InputError with the owner and the path to remove. Rank 0 only.
class RunLock {
 public:
  /// beat_interval_s: how often the counter moves; a taker watches ten of the interval that the owner wrote.
  explicit RunLock(std::string run_folder, double beat_interval_s = 2.0);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  /// Throws SystemError when the lock is no longer this process's: the holder must stop before it commits anything.
  void check() const;
  /// Removes the lock (if still ours); further calls do nothing.
  void release();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::checkpoint
