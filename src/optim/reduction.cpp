#include "optim/reduction.hpp"

#include <algorithm>

#include "trireme/kernels/reduce.hpp"

namespace trireme::optim {
namespace {

/// The own piece, shared out among the groups in parts of any borders: every group gets all of it in the end.
comm::Cuts even_cuts(std::int64_t elements, int pieces) {
  comm::Cuts cuts;
  for (int piece = 0; piece <= pieces; ++piece) cuts.push_back(elements * piece / pieces);
  return cuts;
}

}  // namespace

Reduction::Reduction(const device::Device& device, const DataAxis& data_axis, const BucketLayout& layout, int bucket,
                     int num_buckets)
    : device_(device),
      own_begin_(layout.own_begin),
      own_elements_(layout.own_elements()),
      inside_(data_axis.inside(), device, layout.cuts, num_buckets + bucket),
      scatter_across_(data_axis.across(), device, even_cuts(own_elements_, data_axis.across().size()), 2 * bucket),
      gather_across_(data_axis.across(), even_cuts(own_elements_, data_axis.across().size()), 2 * bucket + 1) {}

std::int64_t Reduction::scratch_elements() const {
  return std::max(inside_.scratch_elements(), scatter_across_.scratch_elements());
}

void Reduction::start(float* scratch) {
  scratch_ = scratch;
  phase_ = Phase::inside;
  inside_.start(job_.bucket, scratch_);
}

bool Reduction::poll() {
  while (phase_ != Phase::idle && poll_phase()) next_phase();
  return phase_ == Phase::idle;
}

void Reduction::finish() {
  while (phase_ != Phase::idle) {
    finish_phase();
    next_phase();
  }
}

bool Reduction::poll_phase() {
  if (phase_ == Phase::inside) return inside_.poll();
  return phase_ == Phase::scatter_across ? scatter_across_.poll() : gather_across_.poll();
}

void Reduction::finish_phase() {
  if (phase_ == Phase::inside) inside_.finish();
  if (phase_ == Phase::scatter_across) scatter_across_.finish();
  if (phase_ == Phase::gather_across) gather_across_.finish();
}

void Reduction::next_phase() {
  if (phase_ == Phase::inside) {
    deliver();
    phase_ = job_.across ? Phase::scatter_across : Phase::idle;
    if (job_.across) scatter_across_.start(job_.own, scratch_);
  } else if (phase_ == Phase::scatter_across) {
    phase_ = Phase::gather_across;
    gather_across_.start(job_.own);
  } else {
    phase_ = Phase::idle;
  }
}

void Reduction::deliver() const {
  if (job_.deliver == Deliver::in_place) return;
  const float* const sum = job_.bucket + own_begin_;
  if (job_.deliver == Deliver::set) {
    std::copy(sum, sum + own_elements_, job_.own);
  } else {
    kernels::add_to(device_, own_elements_, sum, job_.own);
  }
}

}  // namespace trireme::optim
