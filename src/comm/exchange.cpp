#include "comm/exchange.hpp"

#include "trireme/base/error.hpp"

namespace trireme::comm {

void Exchange::begin(void* data) {
  TRIREME_EXPECT(step_ == -1);
  data_ = data;
  step_ = 0;
  if (num_steps() == 0) {
    step_ = -1;
    return;
  }
  post(step_);
}

bool Exchange::poll() {
  while (step_ != -1 && messages_arrived()) advance();
  return step_ == -1;
}

void Exchange::finish() {
  while (step_ != -1) {
    for (const auto& request : requests_) request->wait();
    requests_.clear();
    advance();
  }
}

bool Exchange::messages_arrived() {
  while (!requests_.empty()) {
    if (!requests_.back()->test()) return false;
    requests_.pop_back();
  }
  return true;
}

void Exchange::advance() {
  complete(step_);
  ++step_;
  if (step_ == num_steps()) {
    step_ = -1;
  } else {
    post(step_);
  }
}

void Exchange::receive(void* target, std::int64_t elements, int source) {
  requests_.push_back(communicator_.receive(target, static_cast<std::size_t>(elements) * element_bytes_, source, tag_));
}

void Exchange::send(const void* source, std::int64_t elements, int destination) {
  requests_.push_back(
      communicator_.send(source, static_cast<std::size_t>(elements) * element_bytes_, destination, tag_));
}

}  // namespace trireme::comm
