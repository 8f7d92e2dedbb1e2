#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <sched.h>

#include "trireme/base/error.hpp"
#include "trireme/device/device.hpp"

namespace trireme::device {

CoreSet own_cores() {
  constexpr int limit = static_cast<int>(CoreSet().size());
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(CPU_ALLOC(limit), [](cpu_set_t* set) { CPU_FREE(set); });
  const std::size_t bytes = CPU_ALLOC_SIZE(limit);
  // Fails on machines with more cores than the mask has bits: then they are all taken to be ours.
  const bool known = mask != nullptr && sched_getaffinity(0, bytes, mask.get()) == 0;
  const int all = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, limit);
  CoreSet cores;
  for (int core = 0; core < limit; ++core) {
    if (known ? CPU_ISSET_S(static_cast<std::size_t>(core), bytes, mask.get()) != 0 : core < all) {
      cores.set(static_cast<std::size_t>(core));
    }
  }
  return cores;
}

int available_cores() {
  return static_cast<int>(own_cores().count());
}

int default_num_threads(const CoreSet& mine, std::span<const CoreSet> on_host) {
  const char* variable = std::getenv("OMP_NUM_THREADS");
  if (variable == nullptr || *variable == '\0') {
    const auto sharing =
        std::count_if(on_host.begin(), on_host.end(), [&](const CoreSet& other) { return (other & mine).any(); });
    const auto cores = static_cast<std::ptrdiff_t>(mine.count());
    return static_cast<int>(std::max<std::ptrdiff_t>(cores / std::max<std::ptrdiff_t>(sharing, 1), 1));
  }
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
