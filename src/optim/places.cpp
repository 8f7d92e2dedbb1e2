#include "optim/places.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme::optim {
namespace {

std::vector<Place> allocate_pool(device::Arena& arena, std::int64_t elements, int count) {
  std::vector<Place> pool;
  for (int place = 0; place < count && elements > 0; ++place) {
    void* const memory =
        arena.allocate(static_cast<std::size_t>(elements) * sizeof(float), device::MemoryClass::buffers);
    pool.push_back({.memory = static_cast<float*>(memory)});
  }
  return pool;
}

}  // namespace

Places::Places(device::Arena& arena, const std::vector<std::int64_t>& elements,
               const std::vector<SharedPlaces>& in_turn)
    : pool_of_(elements.size(), elements.size() + in_turn.size()) {
  const std::size_t none = elements.size() + in_turn.size();
  for (const SharedPlaces& shared : in_turn) {
    std::int64_t largest = 0;
    int users = 0;
    for (int bucket : shared.buckets) {
      const auto index = static_cast<std::size_t>(bucket);
      if (index >= elements.size()) continue;
      TRIREME_EXPECT(pool_of_[index] == none);
      pool_of_[index] = pools_.size();
      largest = std::max(largest, elements[index]);
      users += elements[index] > 0;
    }
    pools_.push_back(allocate_pool(arena, largest, std::min(users, shared.places)));
  }
  for (std::size_t bucket = 0; bucket < elements.size(); ++bucket) {
    if (pool_of_[bucket] != none) continue;
    pool_of_[bucket] = pools_.size();
    pools_.push_back(allocate_pool(arena, elements[bucket], 1));
  }
}

Place* Places::holding(int bucket) {
  std::vector<Place>& pool = of(bucket);
  const auto found = std::find_if(pool.begin(), pool.end(), [&](const Place& place) { return place.bucket == bucket; });
  return found == pool.end() ? nullptr : &*found;
}

Place* Places::idle(int bucket) {
  Place* oldest = nullptr;
  for (Place& place : of(bucket)) {
    if (!place.busy && (oldest == nullptr || place.last_use < oldest->last_use)) oldest = &place;
  }
  return oldest;
}

std::vector<Place>& Places::of(int bucket) {
  return pools_[pool_of_[static_cast<std::size_t>(bucket)]];
}

void Places::take(Place& place, int bucket) {
  place.bucket = bucket;
  place.busy = true;
  place.last_use = ++calls_;
}

void Places::give_back(Place& place) {
  place.busy = false;
  place.last_use = ++calls_;
}

}  // namespace trireme::optim
