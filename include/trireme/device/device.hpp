// The processor that this rank owns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace trireme::device {

enum class Space : std::uint8_t { host, device };

/// Instruction sets that the host kernels are built for; ordered, so that ranks agree on the smallest.
enum class Isa : std::uint8_t { generic, avx2, avx512 };
[[nodiscard]] std::string_view name_of(Isa isa);

/// The best instruction set that this processor has.
[[nodiscard]] Isa detect_isa();

/// Threads for this rank: OMP_NUM_THREADS, else cores of the affinity mask / ranks on the node, at least 1.
[[nodiscard]] int default_num_threads(int ranks_on_node);

/// `Kokkos 3.4.1 (Serial)`, for --version.
[[nodiscard]] std::string kokkos_version();

/// Cores of this process's affinity mask.
[[nodiscard]] int available_cores();

struct DeviceOptions {
  int num_threads = 1;
  Isa isa = Isa::generic;  ///< must not exceed detect_isa()
};

/// The processor of this rank: its threads, its instruction set, its Kokkos.
///
/// Denormals flush to zero on every thread of the team, the calling one included, from construction on. Kernels split
/// their work in blocks whose borders never depend on the number of threads, so results do not either.
class Device {
 public:
  explicit Device(const DeviceOptions& options);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] int num_threads() const noexcept;
  [[nodiscard]] Isa isa() const noexcept;
  [[nodiscard]] Space space() const noexcept { return Space::host; }

  /// `Serial x 2 threads, avx512`: what is printed at start.
  [[nodiscard]] std::string description() const;

  /// Calls body(block, thread) once for each block of [0, num_blocks) on the team's threads; returns when all are done.
  ///
  /// Blocks are handed out in contiguous shares, one a thread, unless `dynamic` (then one by one, for blocks of unequal
  /// cost). An exception of a block is thrown again here. Not reentrant: a body must not call parallel().
  void parallel(std::int64_t num_blocks, const std::function<void(std::int64_t block, int thread)>& body,
                bool dynamic = false) const;

 private:
  class Team;
  std::unique_ptr<Team> team_;
  DeviceOptions options_;
};

}  // namespace trireme::device
