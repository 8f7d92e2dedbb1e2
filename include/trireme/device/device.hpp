// The processor that this rank owns.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace trireme::device {

enum class Space : std::uint8_t { host, device };

/// Levels of instruction sets; ordered, so that ranks agree on the smallest. Our own kernels have three forms and use
/// that of avx512 from there on; the last two levels are those of the matrix products in bf16.
enum class Isa : std::uint8_t { generic, avx2, avx512, avx512_bf16, amx };
inline constexpr std::array all_isas{Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx};
[[nodiscard]] std::string_view name_of(Isa isa);

/// The highest level that this processor and its system offer.
[[nodiscard]] Isa detect_isa();
/// The level that is fastest here: the highest one, but avx512 on processors whose bf16 instruction gives less than
/// their fp32 multiply-add (Intel's; with tiles it is not needed).
[[nodiscard]] Isa preferred_isa();

/// Cores by their numbers.
using CoreSet = std::bitset<4096>;
/// Cores that this process may run on: its affinity mask.
[[nodiscard]] CoreSet own_cores();

/// Threads for a rank that may run on `mine`: OMP_NUM_THREADS, else its share of these cores, at least 1. Ranks that
/// may run on some of them share them evenly; `on_host`: what every rank of the host may run on, this one too.
[[nodiscard]] int default_num_threads(const CoreSet& mine, std::span<const CoreSet> on_host);

/// `Kokkos 3.4.1 (Serial)`, for --version.
[[nodiscard]] std::string kokkos_version();

/// How many own_cores() are.
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
