#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <sched.h>

#include "trireme/base/error.hpp"
#include "trireme/device/device.hpp"

namespace trireme::device {

int available_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  // Fails on machines with more cores than the mask has bits: then ask for all of them.
  const bool known = sched_getaffinity(0, sizeof mask, &mask) == 0;
  const int cores = known ? CPU_COUNT(&mask) : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(cores, 1);
}

int default_num_threads(int ranks_on_node) {
  TRIREME_EXPECT(ranks_on_node >= 1);
  const char* variable = std::getenv("OMP_NUM_THREADS");
  if (variable == nullptr || *variable == '\0') return std::max(available_cores() / ranks_on_node, 1);
  // A list like `4,2` is for nested teams; ours is the outermost.
  const std::string_view text(variable);
  const std::string_view first = text.substr(0, text.find(','));
  int threads = 0;
  const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), threads);
  if (error != std::errc() || end != first.data() + first.size() || threads < 1) {
    throw InputError(fmt::format("OMP_NUM_THREADS is `{}` (a whole number from 1 is needed) set it or unset it", text));
  }
  return threads;
}

}  // namespace trireme::device
