// Keeps oneDNN on the calling thread.
#pragma once

namespace trireme::kernels::host {

/// While it lives, oneDNN's OpenMP runtime gives the calling thread a team of one. The setting belongs to the thread
/// that makes it: every thread of our team needs its own. The former setting comes back at the end.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int former_threads_;
};

}  // namespace trireme::kernels::host
