#include "trireme/checkpoint/run_lock.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/io/file.hpp"

#include "checkpoint/lock_owner.hpp"

namespace trireme::checkpoint {
namespace {

constexpr int watched_intervals = 10;

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// What a file holds, nothing when it cannot be read: files of a lock come and go under us.
std::optional<std::string> try_read(const std::string& path) {
  try {
    return io::read_text(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string counter_text(std::uint64_t count) {
  return fmt::format("{:020}\n", count);
}

}  // namespace

struct RunLock::State {
  std::string folder;  ///< of the lock
  LockOwner self;
  bool is_held = false;
  std::mutex mutex;
  std::condition_variable wake;
  bool stop = false;
  std::thread beat;

  State(const std::string& run_folder, double beat_interval_s)
      : folder(run_folder + "/lock"), self(this_process(beat_interval_s)) {}

  /// The counter's name holds the token: a holder that slept through a takeover cannot disturb the next one's.
  [[nodiscard]] std::string beat_path(const LockOwner& owner) const { return folder + "/beat." + owner.token; }
  [[nodiscard]] std::optional<LockOwner> read_owner() const {
    const auto text = try_read(folder + "/owner");
    return text ? parse_owner(*text) : std::nullopt;
  }
  [[nodiscard]] bool is_owned_by(const std::optional<LockOwner>& owner) const {
    const auto now = read_owner();
    return owner ? now && now->token == owner->token : !now && io::exists(folder);
  }

  void acquire();
  void take_free();
  void clear_way();
  [[noreturn]] void refuse(const std::optional<LockOwner>& owner) const;
  enum class Watched : std::uint8_t { beats, still, changed };
  [[nodiscard]] Watched watch(const std::optional<LockOwner>& owner) const;
  void take_away(const std::optional<LockOwner>& owner);
  void beat_until_stopped();
  void stop_beating();
};

void RunLock::State::acquire() {
  while (!io::make_folder(folder)) clear_way();
  take_free();
}

/// The folder is new and ours: says whose it is.
void RunLock::State::take_free() {
  try {
    io::write_text_atomically(beat_path(self), counter_text(0));
    io::write_text_atomically(folder + "/owner", text_of(self));
  } catch (const Error&) {
    io::remove_tree(folder);
    throw;
  }
  is_held = true;
  beat = std::thread([this] { beat_until_stopped(); });
}

/// Somebody's lock is there: removes it when its owner is surely gone, returns when it changed meanwhile, else refuses.
void RunLock::State::clear_way() {
  const std::optional<LockOwner> owner = read_owner();
  const OwnerState state = owner ? judge(*owner, self) : OwnerState::unknown;
  if (state == OwnerState::alive) refuse(owner);
  if (state == OwnerState::unknown) {
    const Watched seen = watch(owner);
    if (seen == Watched::beats) refuse(owner);
    if (seen == Watched::changed) return;
  }
  take_away(owner);
}

void RunLock::State::refuse(const std::optional<LockOwner>& owner) const {
  throw InputError(
      fmt::format("the run folder is in use (`{}` is held by {}) wait for it to end, or, if it surely has, "
                  "remove `{}`",
                  folder, owner ? describe(*owner) : "an unknown process", folder));
}

RunLock::State::Watched RunLock::State::watch(const std::optional<LockOwner>& owner) const {
  const double interval_s = std::clamp(owner ? owner->beat_interval_s : self.beat_interval_s, 0.01, 60.0);
  log::info("`{}` is there (held by {}); watching for {:.3g} s whether it still is alive", folder,
            owner ? describe(*owner) : "an unknown process", watched_intervals * interval_s);
  const auto count = [&] { return owner ? try_read(beat_path(*owner)) : std::nullopt; };
  const auto before = count();
  for (int i = 0; i < watched_intervals; ++i) {
    sleep_s(interval_s);
    if (!is_owned_by(owner)) return Watched::changed;
    if (count() != before) return Watched::beats;
  }
  return Watched::still;
}

/// Of several takers exactly one moves the dead owner's folder away: the one that made the claim inside it. A claim
/// whose maker died stands still like a lock; then the claim inside it decides.
void RunLock::State::take_away(const std::optional<LockOwner>& owner) {
  try {
    std::string claim = folder + "/claim";
    while (!io::make_folder(claim)) {
      if (watch(owner) != Watched::still) return;
      claim += "/claim";
    }
    if (!is_owned_by(owner)) {  // moved away just before, and this is the next owner's
      io::remove_tree(claim);
      return;
    }
    const std::string aside = fmt::format("{}.of_{}", folder, self.token);
    io::rename(folder, aside);
    io::remove_tree(aside);
  } catch (const Error&) {
    if (is_owned_by(owner)) throw;
    return;  // another one moved it away under us
  }
  if (owner) log::warning("took over `{}` ({} is gone)", folder, describe(*owner));
}

void RunLock::State::beat_until_stopped() {
  std::unique_lock<std::mutex> hold(mutex);
  const auto interval = std::chrono::duration<double>(self.beat_interval_s);
  for (std::uint64_t count = 1; !wake.wait_for(hold, interval, [this] { return stop; }); ++count) {
    try {
      const std::string text = counter_text(count);
      io::File file(beat_path(self), io::File::Mode::read_write);
      file.write_at(0, text.data(), text.size());
      file.sync();  // a network file system shows it to others only then
      file.close();
    } catch (const Error&) {
      // A missed beat is no harm; a lost lock is found by check().
    }
  }
}

void RunLock::State::stop_beating() {
  {
    const std::lock_guard<std::mutex> hold(mutex);
    stop = true;
  }
  wake.notify_all();
  if (beat.joinable()) beat.join();
}

RunLock::RunLock(std::string run_folder, double beat_interval_s)
    : state_(std::make_unique<State>(run_folder, beat_interval_s)) {
  io::make_folders(run_folder);
  state_->acquire();
}

RunLock::~RunLock() {
  try {
    release();
  } catch (const Error& error) {
    log::warning("the lock was not removed: {}", error.what());
  }
}

void RunLock::check() const {
  const auto owner = state_->read_owner();
  if (state_->is_held && owner && owner->token == state_->self.token) return;
  throw SystemError(fmt::format("`{}` is no longer ours (now held by {}): this run stops before it commits anything",
                                state_->folder, owner ? describe(*owner) : "nobody"));
}

void RunLock::release() {
  if (!state_->is_held) return;
  state_->is_held = false;
  state_->stop_beating();
  if (!state_->is_owned_by(state_->self)) return;
  const std::string aside = fmt::format("{}.of_{}", state_->folder, state_->self.token);
  io::rename(state_->folder, aside);  // in one move: nobody sees a lock without its owner
  io::remove_tree(aside);
}

}  // namespace trireme::checkpoint
