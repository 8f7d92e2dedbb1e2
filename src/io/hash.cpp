#include "trireme/io/hash.hpp"

#include <new>

#include <fmt/format.h>
#include <xxhash.h>

namespace trireme::io {

std::string Hash128::text() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

struct Hasher::State {
  XXH3_state_t* stream = XXH3_createState();
  ~State() { XXH3_freeState(stream); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  if (state_->stream == nullptr) {
    throw std::bad_alloc();
  }
  XXH3_128bits_reset(state_->stream);
}

Hasher::~Hasher() = default;

void Hasher::add(const void* data, std::size_t bytes) {
  if (bytes > 0) {
    XXH3_128bits_update(state_->stream, data, bytes);
  }
}

Hash128 Hasher::value() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->stream);
  return {hash.low64, hash.high64};
}

Hash128 hash128(const void* data, std::size_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  return {hash.low64, hash.high64};
}

std::uint64_t hash64(const void* data, std::size_t bytes) {
  return XXH3_64bits(data, bytes);
}

}  // namespace trireme::io
