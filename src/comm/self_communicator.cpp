#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "trireme/base/error.hpp"
#include "trireme/comm/communicator.hpp"

namespace trireme::comm {
namespace {

class SelfCommunicator : public Communicator {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  void barrier() override {}
  void broadcast(void* /*data*/, std::size_t /*bytes*/, int /*root*/) override {}
  void all_gather(const void* mine, std::size_t bytes, void* all) override {
    if (bytes > 0) std::memmove(all, mine, bytes);
  }
  void all_reduce_sum(std::span<std::int64_t> /*values*/) override {}
  void all_reduce_max(std::span<double> /*values*/) override {}
  std::unique_ptr<Request> send(const void* /*data*/, std::size_t /*bytes*/, int destination, int /*tag*/) override {
    refuse_message(destination);
  }
  std::unique_ptr<Request> receive(void* /*data*/, std::size_t /*bytes*/, int source, int /*tag*/) override {
    refuse_message(source);
  }
  std::unique_ptr<Communicator> split(const ColorOf& /*color_of*/) override { return make_self_communicator(); }
  std::unique_ptr<Communicator> split_by_host() override { return make_self_communicator(); }
  [[nodiscard]] bool all_arrive(double /*patience_s*/) override { return true; }
  // The job is this one process: no buffer of stdio is lost, no destructor of a half-way state runs.
  [[noreturn]] void abort(int code) override {
    std::fflush(nullptr);
    std::_Exit(code);
  }

 private:
  [[noreturn]] static void refuse_message(int peer) {
    throw CommunicationError("message to rank `" + std::to_string(peer) +
                             "` (there is one rank, and it sends none to itself)");
  }
};

}  // namespace

std::unique_ptr<Communicator> make_self_communicator() {
  return std::make_unique<SelfCommunicator>();
}

}  // namespace trireme::comm
