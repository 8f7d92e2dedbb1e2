// The common course of the background collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

/// A collective as a number of steps: each posts its messages, and completes once all of them have arrived. All
/// messages are non-blocking and receives are posted before sends, so nothing relies on the library buffering a
/// message.
class Exchange {
 public:
  virtual ~Exchange() = default;
  bool poll();
  void finish();

 protected:
  Exchange(Communicator& communicator, int tag, std::size_t element_bytes = sizeof(float))
      : communicator_(communicator), tag_(tag), element_bytes_(element_bytes) {}
  void begin(void* data);

  [[nodiscard]] virtual int num_steps() const = 0;
  /// Posts the messages of a step: receives first.
  virtual void post(int step) = 0;
  /// Works on what a step has received.
  virtual void complete(int /*step*/) {}

  void receive(void* target, std::int64_t elements, int source);
  void send(const void* source, std::int64_t elements, int destination);

  [[nodiscard]] int rank() const { return communicator_.rank(); }
  [[nodiscard]] int size() const { return communicator_.size(); }
  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t element_bytes() const noexcept { return element_bytes_; }

 private:
  bool messages_arrived();
  void advance();

  Communicator& communicator_;
  int tag_;
  std::size_t element_bytes_;
  void* data_ = nullptr;
  int step_ = -1;  // -1: not under way
  std::vector<std::unique_ptr<Request>> requests_;
};

}  // namespace trireme::comm
