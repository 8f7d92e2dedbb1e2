#include "trireme/device/device.hpp"

#include <fmt/format.h>

#include "trireme/base/error.hpp"

#include "device/kokkos_runtime.hpp"
#include "device/team.hpp"

namespace trireme::device {

namespace {

DeviceOptions checked(const DeviceOptions& options) {
  if (options.num_threads < 1) {
    throw InputError(fmt::format("{} threads a rank (at least 1 is needed)", options.num_threads));
  }
  if (options.isa > detect_isa()) {
    throw InputError(fmt::format("`numerics.isa` is `{}` (this processor has `{}` at most) choose that or `auto`",
                                 name_of(options.isa), name_of(detect_isa())));
  }
  return options;
}

}  // namespace

Device::Device(const DeviceOptions& options) : options_(checked(options)) {
  start_kokkos();
  team_ = std::make_unique<Team>(options_.num_threads);
}

Device::~Device() = default;

int Device::num_threads() const noexcept {
  return options_.num_threads;
}

Isa Device::isa() const noexcept {
  return options_.isa;
}

std::string Device::description() const {
  return fmt::format("{} x {} {}, {}", kokkos_space_name(), options_.num_threads,
                     options_.num_threads == 1 ? "thread" : "threads", name_of(options_.isa));
}

void Device::parallel(std::int64_t num_blocks, const std::function<void(std::int64_t block, int thread)>& body,
                      bool dynamic) const {
  team_->run(num_blocks, body, dynamic);
}

}  // namespace trireme::device
