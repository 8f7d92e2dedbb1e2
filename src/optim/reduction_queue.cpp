#include "optim/reduction_queue.hpp"

#include <algorithm>

namespace trireme::optim {

/// A reduce-scatter, and an all-gather after it when the whole sum is wanted.
class ReductionQueue::Reduction {
 public:
  Reduction(const device::Device& device, comm::Communicator& data_axis, const comm::Cuts& cuts, int tag,
            bool keep_whole)
      : scatter_(data_axis, device, cuts, tag), gather_(data_axis, cuts, tag + 1), keep_whole_(keep_whole) {}

  [[nodiscard]] std::int64_t scratch_elements() const { return scatter_.scratch_elements(); }
  void set_data(float* data) { data_ = data; }

  void start(float* scratch) {
    scatter_.start(data_, scratch);
    scattering_ = true;
  }
  bool poll() {
    if (scattering_ && scatter_.poll()) begin_gather();
    return !scattering_ && gather_.poll();
  }
  void finish() {
    if (scattering_) {
      scatter_.finish();
      begin_gather();
    }
    gather_.finish();
  }

 private:
  void begin_gather() {
    scattering_ = false;
    if (keep_whole_) gather_.start(data_);
  }

  comm::TreeReduceScatter scatter_;
  comm::PieceAllGather gather_;
  bool keep_whole_;
  bool scattering_ = false;
  float* data_ = nullptr;
};

ReductionQueue::ReductionQueue(const device::Device& device, comm::Communicator& data_axis, device::Arena& arena,
                               const std::vector<comm::Cuts>& cuts, bool keep_whole) {
  std::vector<std::int64_t> needs;
  for (std::size_t bucket = 0; bucket < cuts.size(); ++bucket) {
    const int tag = 2 * static_cast<int>(bucket);
    reductions_.push_back(std::make_unique<Reduction>(device, data_axis, cuts[bucket], tag, keep_whole));
    needs.push_back(reductions_.back()->scratch_elements());
  }
  if (needs.empty()) return;
  std::sort(needs.begin(), needs.end());
  std::vector<std::int64_t> places{needs.back()};
  if (needs.size() > 1) places.insert(places.begin(), needs[(needs.size() - 1) / 2]);
  for (std::int64_t elements : places) {
    const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
    void* const scratch = bytes == 0 ? nullptr : arena.allocate(bytes, device::MemoryClass::buffers);
    places_.push_back({static_cast<float*>(scratch), elements, nullptr});
  }
}

ReductionQueue::~ReductionQueue() = default;

void ReductionQueue::push(std::size_t bucket, float* data) {
  reductions_[bucket]->set_data(data);
  waiting_.push_back(reductions_[bucket].get());
  poll();
}

void ReductionQueue::poll() {
  for (auto reduction = running_.begin(); reduction != running_.end();) {
    if ((*reduction)->poll()) {
      release(**reduction);
      reduction = running_.erase(reduction);
    } else {
      ++reduction;
    }
  }
  start_waiting();
}

void ReductionQueue::finish() {
  start_waiting();
  while (!running_.empty()) {
    running_.front()->finish();
    release(*running_.front());
    running_.pop_front();
    start_waiting();
  }
}

void ReductionQueue::start_waiting() {
  while (!waiting_.empty()) {
    Place* const place = free_place(waiting_.front()->scratch_elements());
    if (place == nullptr) return;
    place->user = waiting_.front();
    running_.push_back(place->user);
    waiting_.pop_front();
    place->user->start(place->scratch);
  }
}

void ReductionQueue::release(const Reduction& reduction) {
  for (Place& place : places_) {
    if (place.user == &reduction) place.user = nullptr;
  }
}

ReductionQueue::Place* ReductionQueue::free_place(std::int64_t elements) {
  const auto place = std::find_if(places_.begin(), places_.end(), [&](const Place& candidate) {
    return candidate.user == nullptr && candidate.elements >= elements;
  });
  return place == places_.end() ? nullptr : &*place;
}

}  // namespace trireme::optim
