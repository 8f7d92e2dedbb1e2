// The threads of a Device: they live as long as it does and sleep when there is nothing to do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "trireme/device/device.hpp"

namespace trireme::device {

/// Thread 0 is the caller of run(); the others wait for its jobs, spinning briefly before they sleep.
class Device::Team {
 public:
  explicit Team(int num_threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  using Body = std::function<void(std::int64_t block, int thread)>;
  void run(std::int64_t num_blocks, const Body& body, bool dynamic);

 private:
  struct Job {
    const Body* body = nullptr;
    std::int64_t num_blocks = 0;
    bool dynamic = false;
  };

  void live(int thread);
  /// Ends the threads that there are.
  void leave();
  void work(int thread);
  void work_share(int thread);
  void work_dynamic(int thread);
  void keep_error();
  void publish(const Job& job);
  void wait_for_workers();

  int num_threads_;
  int spin_us_;
  Job job_;
  std::atomic<std::int64_t> next_block_{0};
  std::atomic<std::uint64_t> num_jobs_{0};
  std::atomic<int> num_working_{0};
  std::atomic<bool> leaving_{false};
  std::exception_ptr error_;
  std::mutex mutex_;  ///< guards error_ and the two conditions
  std::condition_variable job_came_;
  std::condition_variable job_done_;
  std::vector<std::thread> threads_;
};

}  // namespace trireme::device
