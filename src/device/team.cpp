#include "device/team.hpp"

#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "device/isa.hpp"

namespace trireme::device {

namespace {

// Kernels follow each other within some microseconds; a spinning thread that another one needs the core of is a loss.
constexpr int patient_spin_us = 40;
constexpr int crowded_spin_us = 2;

template <class Condition>
bool spin_until(const Condition& condition, int spin_us) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::microseconds(spin_us);
  do {
    for (int i = 0; i < 8; ++i) {
      if (condition()) return true;
      relax();
    }
  } while (Clock::now() < end);
  return condition();
}

}  // namespace

Device::Team::Team(int num_threads)
    : num_threads_(num_threads), spin_us_(num_threads > available_cores() ? crowded_spin_us : patient_spin_us) {
  flush_denormals();
  try {
    for (int thread = 1; thread < num_threads_; ++thread) threads_.emplace_back(&Team::live, this, thread);
  } catch (const std::system_error& refusal) {
    leave();
    throw SystemError(
        fmt::format("cannot start {} threads ({}) set OMP_NUM_THREADS to fewer", num_threads_, refusal.what()));
  }
}

Device::Team::~Team() {
  leave();
}

void Device::Team::leave() {
  leaving_ = true;
  publish({});
  for (std::thread& thread : threads_) thread.join();
}

void Device::Team::run(std::int64_t num_blocks, const Body& body, bool dynamic) {
  if (num_blocks <= 1 || num_threads_ == 1) {
    for (std::int64_t block = 0; block < num_blocks; ++block) body(block, 0);
    return;
  }
  TRIREME_EXPECT(num_working_ == 0);
  next_block_ = 0;
  publish({&body, num_blocks, dynamic});
  work(0);
  wait_for_workers();
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Device::Team::publish(const Job& job) {
  {
    const std::lock_guard lock(mutex_);
    job_ = job;
    num_working_ = num_threads_ - 1;
    ++num_jobs_;
  }
  job_came_.notify_all();
}

void Device::Team::wait_for_workers() {
  const auto done = [this] { return num_working_ == 0; };
  if (spin_until(done, spin_us_)) return;
  std::unique_lock lock(mutex_);
  job_done_.wait(lock, done);
}

void Device::Team::live(int thread) {
  flush_denormals();
  for (std::uint64_t seen = 0;; ++seen) {
    const auto came = [this, seen] { return num_jobs_ > seen; };
    if (!spin_until(came, spin_us_)) {
      std::unique_lock lock(mutex_);
      job_came_.wait(lock, came);
    }
    if (leaving_) return;
    work(thread);
    if (--num_working_ == 0) {
      // Taking the lock keeps the caller from missing the call between its look and its sleep.
      { const std::lock_guard lock(mutex_); }
      job_done_.notify_one();
    }
  }
}

void Device::Team::work(int thread) {
  try {
    if (job_.dynamic) {
      work_dynamic(thread);
    } else {
      work_share(thread);
    }
  } catch (...) {
    keep_error();
  }
}

void Device::Team::work_share(int thread) {
  const std::int64_t begin = job_.num_blocks * thread / num_threads_;
  const std::int64_t end = job_.num_blocks * (thread + 1) / num_threads_;
  for (std::int64_t block = begin; block < end; ++block) (*job_.body)(block, thread);
}

void Device::Team::work_dynamic(int thread) {
  for (std::int64_t block = next_block_++; block < job_.num_blocks; block = next_block_++) (*job_.body)(block, thread);
}

void Device::Team::keep_error() {
  const std::lock_guard lock(mutex_);
  if (error_ == nullptr) error_ = std::current_exception();
}

}  // namespace trireme::device
