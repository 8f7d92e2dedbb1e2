#include <cstddef>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/comm/tree.hpp"

#include "comm/exchange.hpp"
#include "comm/halving.hpp"

namespace trireme::comm {

/// Powers of two: recursive halving run backwards, each step doubles what a rank holds. Other counts: a ring, in which
/// every rank passes on the piece that it got in the step before.
class PieceAllGather::Steps : public Exchange {
 public:
  Steps(Communicator& communicator, Cuts cuts, int tag, std::size_t element_bytes)
      : Exchange(communicator, tag, element_bytes), cuts_(std::move(cuts)) {
    TRIREME_EXPECT(static_cast<int>(cuts_.size()) == size() + 1);
  }
  using Exchange::begin;

 private:
  [[nodiscard]] int num_steps() const override { return is_power_of_two(size()) ? log2_of(size()) : size() - 1; }

  void post(int step) override {
    if (is_power_of_two(size())) {
      const HalvingStep halving = halving_step(cuts_, rank(), num_steps() - 1 - step);
      exchange(halving.given, halving.partner, halving.kept, halving.partner);
    } else {
      const int left = (rank() + size() - 1) % size();
      const int right = (rank() + 1) % size();
      exchange(piece_at_distance(step + 1), left, piece_at_distance(step), right);
    }
  }

  void exchange(const Range& missing, int source, const Range& held, int destination) {
    receive(element(missing.begin), missing.size(), source);
    send(element(held.begin), held.size(), destination);
  }

  [[nodiscard]] std::byte* element(std::int64_t index) const {
    return static_cast<std::byte*>(data()) + static_cast<std::size_t>(index) * element_bytes();
  }

  /// The piece owned `distance` ranks to the left.
  [[nodiscard]] Range piece_at_distance(int distance) const {
    const auto piece = static_cast<std::size_t>((rank() + size() - distance) % size());
    return {cuts_[piece], cuts_[piece + 1]};
  }

  Cuts cuts_;
};

PieceAllGather::PieceAllGather(Communicator& communicator, Cuts cuts, int tag, std::size_t element_bytes)
    : steps_(std::make_unique<Steps>(communicator, std::move(cuts), tag, element_bytes)) {}

PieceAllGather::~PieceAllGather() = default;

void PieceAllGather::start(void* data) {
  steps_->begin(data);
}

bool PieceAllGather::poll() {
  return steps_->poll();
}

void PieceAllGather::finish() {
  steps_->finish();
}

}  // namespace trireme::comm
