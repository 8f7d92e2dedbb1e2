#include "optim/lane_sum.hpp"

#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/kernels/reduce.hpp"

namespace trireme::optim {

LaneSum::LaneSum(std::vector<float*> buffers, std::int64_t elements)
    : buffers_(std::move(buffers)), elements_(elements) {
  begin_step();
}

void LaneSum::begin_step() {
  levels_.assign(buffers_.size(), nullptr);
  free_ = buffers_;
  current_ = free_.back();
  free_.pop_back();
}

void LaneSum::lane_done(const device::Device& device) {
  float* sum = current_;
  std::size_t level = 0;
  for (; levels_[level] != nullptr; ++level) {
    kernels::add_to(device, elements_, sum, levels_[level]);
    free_.push_back(sum);
    sum = std::exchange(levels_[level], nullptr);
    TRIREME_EXPECT(level + 1 < levels_.size());
  }
  levels_[level] = sum;
  if (level + 1 == levels_.size()) {
    current_ = sum;
  } else {
    current_ = free_.back();
    free_.pop_back();
  }
}

}  // namespace trireme::optim
