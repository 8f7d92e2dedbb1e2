#include <algorithm>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/comm/tree.hpp"

#include "comm/exchange.hpp"
#include "comm/halving.hpp"

namespace trireme::comm {
namespace {

/// target[i] += source[i]: blocks of 64 KiB over the threads.
void add_to(const device::Device& device, std::int64_t count, const float* source, float* target) {
  constexpr std::int64_t block_elements = 16384;
  const std::int64_t num_blocks = (count + block_elements - 1) / block_elements;
  device.parallel(num_blocks, [&](std::int64_t block, int /*thread*/) {
    const std::int64_t begin = block * block_elements;
    const std::int64_t end = std::min(count, begin + block_elements);
    const float* const from = source;
    float* const to = target;
    for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
  });
}

}  // namespace

class ReduceScatterSteps : public Exchange {
 public:
  ReduceScatterSteps(Communicator& communicator, const device::Device& device, Cuts cuts, int tag)
      : Exchange(communicator, tag), device_(device), cuts_(std::move(cuts)) {
    TRIREME_EXPECT(static_cast<int>(cuts_.size()) == size() + 1);
  }
  [[nodiscard]] virtual std::int64_t scratch_elements() const = 0;
  void start(float* data, float* scratch) {
    scratch_ = scratch;
    begin(data);
  }

 protected:
  [[nodiscard]] const Cuts& cuts() const noexcept { return cuts_; }
  [[nodiscard]] float* data() const noexcept { return static_cast<float*>(Exchange::data()); }
  [[nodiscard]] float* scratch() const noexcept { return scratch_; }
  void add(std::int64_t count, const float* source, float* target) const { add_to(device_, count, source, target); }

 private:
  const device::Device& device_;
  Cuts cuts_;
  float* scratch_ = nullptr;
};

namespace {

/// Powers of two. After step s a rank holds, of its kept range, the sum over the aligned group of 2^(s+1) ranks around
/// it: exactly the nodes of the balanced tree. (a + b and b + a have the same bits.)
class Halving : public ReduceScatterSteps {
 public:
  using ReduceScatterSteps::ReduceScatterSteps;

  [[nodiscard]] std::int64_t scratch_elements() const override {
    return size() == 1 ? 0 : halving_step(cuts(), rank(), 0).kept.size();
  }

 private:
  [[nodiscard]] int num_steps() const override { return log2_of(size()); }

  void post(int step) override {
    const HalvingStep halving = halving_step(cuts(), rank(), step);
    receive(scratch(), halving.kept.size(), halving.partner);
    send(data() + halving.given.begin, halving.given.size(), halving.partner);
  }

  void complete(int step) override {
    const Range kept = halving_step(cuts(), rank(), step).kept;
    add(kept.size(), scratch(), data() + kept.begin);
  }
};

/// Other counts: one step, in which every rank gets its piece from all others.
class Pairwise : public ReduceScatterSteps {
 public:
  using ReduceScatterSteps::ReduceScatterSteps;

  [[nodiscard]] std::int64_t scratch_elements() const override { return (size() - 1) * piece_of(rank()).size(); }

 private:
  [[nodiscard]] int num_steps() const override { return 1; }

  void post(int /*step*/) override {
    // Each rank begins with its right neighbour, so that not all of them send to rank 0 first.
    for (int distance = 1; distance < size(); ++distance) {
      const int source = (rank() - distance + size()) % size();
      receive(contribution_of(source), piece_of(rank()).size(), source);
    }
    for (int distance = 1; distance < size(); ++distance) {
      const int owner = (rank() + distance) % size();
      send(data() + piece_of(owner).begin, piece_of(owner).size(), owner);
    }
  }

  void complete(int /*step*/) override { add_tree(0, size()); }

  /// Adds the contributions of the ranks [first, first + count) in tree order; returns where the sum is. This rank's
  /// own place takes part as a target whenever it can, so the whole sum ends there.
  float* add_tree(int first, int count) {
    if (count == 1) return contribution_of(first);
    int left_count = 1;
    while (2 * left_count < count) left_count *= 2;
    float* const left = add_tree(first, left_count);
    float* const right = add_tree(first + left_count, count - left_count);
    const bool own_is_right = rank() >= first + left_count && rank() < first + count;
    float* const target = own_is_right ? right : left;
    add(piece_of(rank()).size(), own_is_right ? left : right, target);
    return target;
  }

  [[nodiscard]] Range piece_of(int rank) const {
    const auto piece = static_cast<std::size_t>(rank);
    return {cuts()[piece], cuts()[piece + 1]};
  }

  /// Where the numbers of `source` for this rank's piece are: in place for its own, else in the scratch.
  [[nodiscard]] float* contribution_of(int source) const {
    const Range mine = piece_of(rank());
    if (source == rank()) return data() + mine.begin;
    return scratch() + (source < rank() ? source : source - 1) * mine.size();
  }
};

std::unique_ptr<ReduceScatterSteps> make_steps(Communicator& communicator, const device::Device& device, Cuts cuts,
                                               int tag) {
  if (is_power_of_two(communicator.size())) {
    return std::make_unique<Halving>(communicator, device, std::move(cuts), tag);
  }
  return std::make_unique<Pairwise>(communicator, device, std::move(cuts), tag);
}

}  // namespace

TreeReduceScatter::TreeReduceScatter(Communicator& communicator, const device::Device& device, Cuts cuts, int tag)
    : steps_(make_steps(communicator, device, std::move(cuts), tag)) {}

TreeReduceScatter::~TreeReduceScatter() = default;

std::int64_t TreeReduceScatter::scratch_elements() const {
  return steps_->scratch_elements();
}

void TreeReduceScatter::start(float* data, float* scratch) {
  steps_->start(data, scratch);
}

bool TreeReduceScatter::poll() {
  return steps_->poll();
}

void TreeReduceScatter::finish() {
  steps_->finish();
}

}  // namespace trireme::comm
