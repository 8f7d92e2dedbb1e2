#include "optim/reduction_queue.hpp"

#include <algorithm>
#include <utility>

#include "trireme/base/error.hpp"

#include "optim/bucket_memory.hpp"

namespace trireme::optim {

ReductionQueue::ReductionQueue(device::Arena& arena, std::vector<std::unique_ptr<Reduction>> reductions)
    : reductions_(std::move(reductions)) {
  std::vector<std::int64_t> needs;
  for (const auto& reduction : reductions_) {
    if (reduction != nullptr) needs.push_back(reduction->scratch_elements());
  }
  if (needs.empty()) return;
  std::sort(needs.begin(), needs.end());
  std::vector<std::int64_t> places{needs.back()};
  if (needs.size() > 1) places.insert(places.begin(), needs[(needs.size() - 1) / 2]);
  for (std::int64_t elements : places) {
    places_.push_back({allocate_floats(arena, elements, device::MemoryClass::buffers), elements, nullptr});
  }
}

void ReductionQueue::push(int bucket, const ReductionJob& job) {
  Reduction& reduction = *reductions_[static_cast<std::size_t>(bucket)];
  TRIREME_EXPECT(reduction.poll());
  reduction.set_job(job, ++num_pushed_);
  waiting_.push_back(&reduction);
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
  while (!running_.empty() || !waiting_.empty()) finish_oldest();
}

void ReductionQueue::finish(int bucket) {
  const std::int64_t last = reductions_[static_cast<std::size_t>(bucket)]->number();
  start_waiting();
  while (!running_.empty() && running_.front()->number() <= last) finish_oldest();
}

void ReductionQueue::finish_oldest() {
  start_waiting();
  running_.front()->finish();
  release(*running_.front());
  running_.pop_front();
  start_waiting();
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
