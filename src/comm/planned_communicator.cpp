#include <utility>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/comm/communicator.hpp"

namespace trireme::comm {
namespace {

class PlannedCommunicator : public Communicator {
 public:
  PlannedCommunicator(int rank, int size) : rank_(rank), size_(size) { TRIREME_EXPECT(0 <= rank && rank < size); }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void barrier() override { refuse(); }
  void broadcast(void* /*data*/, std::size_t /*bytes*/, int /*root*/) override { refuse(); }
  void all_gather(const void* /*mine*/, std::size_t /*bytes*/, void* /*all*/) override { refuse(); }
  void all_reduce_sum(std::span<std::int64_t> /*values*/) override { refuse(); }
  void all_reduce_max(std::span<double> /*values*/) override { refuse(); }
  std::unique_ptr<Request> send(const void* /*data*/, std::size_t /*bytes*/, int /*to*/, int /*tag*/) override {
    refuse();
  }
  std::unique_ptr<Request> receive(void* /*data*/, std::size_t /*bytes*/, int /*from*/, int /*tag*/) override {
    refuse();
  }
  std::unique_ptr<Communicator> split(const ColorOf& color_of) override {
    int place = 0;
    int members = 0;
    for (int rank = 0; rank < size_; ++rank) {
      if (color_of(rank) != color_of(rank_)) continue;
      if (rank == rank_) place = members;
      ++members;
    }
    return make_planned_communicator(place, members);
  }
  std::unique_ptr<Communicator> split_by_host() override { refuse(); }
  [[nodiscard]] bool all_arrive(double /*patience_s*/) override { refuse(); }
  [[noreturn]] void abort(int /*code*/) override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    contract_failed("a rank that is only planned does not communicate", __FILE__, __LINE__);
  }

  int rank_;
  int size_;
};

}  // namespace

std::unique_ptr<Communicator> make_planned_communicator(int rank, int size) {
  return std::make_unique<PlannedCommunicator>(rank, size);
}

}  // namespace trireme::comm
