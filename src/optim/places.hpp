#pragma once

#include <cstdint>
#include <vector>

#include "trireme/device/arena.hpp"
#include "trireme/optim/weights.hpp"

namespace trireme::optim {

/// Memory for a whole bucket that is there for a while.
struct Place {
  float* memory = nullptr;
  int bucket = -1;            ///< whose numbers it holds
  bool busy = false;          ///< must not be given to another bucket
  std::int64_t last_use = 0;  ///< when it was taken or given back last, in calls
};

/// The places of all buckets: those that are used in turn share some, every other has its own. Which one a bucket gets
/// depends only on the calls made, never on time.
class Places {
 public:
  /// elements: of each bucket; 0: it needs none. The memory counts as buffers.
  Places(device::Arena& arena, const std::vector<std::int64_t>& elements, const std::vector<SharedPlaces>& in_turn);

  /// The place that holds the bucket, or nullptr.
  [[nodiscard]] Place* holding(int bucket);
  /// The place for the bucket that is not busy and was used least recently, or nullptr.
  [[nodiscard]] Place* idle(int bucket);
  /// All places that the bucket may have.
  [[nodiscard]] std::vector<Place>& of(int bucket);
  /// Makes it the bucket's, and busy.
  void take(Place& place, int bucket);
  /// No longer busy; it still holds the bucket's numbers.
  void give_back(Place& place);

 private:
  std::vector<std::vector<Place>> pools_;
  std::vector<std::size_t> pool_of_;  // by bucket
  std::int64_t calls_ = 0;
};

}  // namespace trireme::optim
