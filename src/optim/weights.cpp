#include "trireme/optim/weights.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/timer.hpp"
#include "trireme/comm/tree.hpp"
#include "trireme/kernels/cast.hpp"
#include "trireme/kernels/random.hpp"

#include "optim/bucket_memory.hpp"
#include "optim/places.hpp"

namespace trireme::optim {
namespace {

using device::MemoryClass;
using tensor::Parameter;

struct Bucket {
  int number = 0;
  BucketLayout layout;
  WeightLayout weights;
  std::byte* whole = nullptr;  // plain
  float* own = nullptr;        // the masters: within `whole` where that is fp32 and there
  std::unique_ptr<comm::PieceAllGather> gather;
  int users = 0;

  [[nodiscard]] bool has_weights() const { return layout.elements > 0 && !layout.gradient_only(); }
};

/// Lets the bucket's entries show their parts of its weights; nullptr: none. A rank without a row of a table still has
/// the table's type and width.
void show(const Bucket& bucket, std::byte* whole, Dtype compute) {
  if (bucket.layout.gradient_only()) return;
  for (std::size_t entry = 0; entry < bucket.layout.parameters.size(); ++entry) {
    Parameter& parameter = *bucket.layout.parameters[entry];
    parameter.weight = {.data = whole == nullptr ? nullptr : whole + bucket.weights.offsets[entry],
                        .shape = parameter.shard.extent,
                        .dtype = weight_dtype(parameter, compute)};
  }
}

void allocate(Bucket& bucket, device::Arena& arena, const WeightsOptions& options, bool sharded) {
  const BucketLayout& layout = bucket.layout;
  const bool has_masters = options.compute != Dtype::f32;
  if (!sharded) {
    bucket.whole = static_cast<std::byte*>(
        arena.allocate(static_cast<std::size_t>(bucket.weights.bytes), MemoryClass::parameters));
  }
  if (sharded || has_masters) {
    bucket.own =
        allocate_floats(arena, layout.own_elements(), has_masters ? MemoryClass::masters : MemoryClass::parameters);
  } else {
    bucket.own = at(reinterpret_cast<float*>(bucket.whole), layout.own_begin);
  }
}

std::vector<Bucket> make_buckets(tensor::ParameterStore& store, comm::Communicator& group, device::Arena& arena,
                                 const WeightsOptions& options, bool sharded) {
  std::vector<Bucket> buckets;
  for (int number = 0; number < store.num_buckets(); ++number) {
    Bucket bucket{.number = number, .layout = lay_out_bucket(store, number, group.rank(), group.size())};
    bucket.weights = lay_out_weights(bucket.layout, options.compute);
    if (bucket.has_weights()) {
      bucket.gather = std::make_unique<comm::PieceAllGather>(group, bucket.weights.cuts, number, 1);
      allocate(bucket, arena, options, sharded);
    }
    show(bucket, bucket.whole, options.compute);
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

/// What each bucket needs a place for, in elements of fp32.
std::vector<std::int64_t> place_elements(const std::vector<Bucket>& buckets, bool sharded) {
  constexpr std::int64_t element_bytes = sizeof(float);
  std::vector<std::int64_t> elements;
  for (const Bucket& bucket : buckets) {
    elements.push_back(sharded && bucket.has_weights() ? bucket.weights.bytes / element_bytes : 0);
  }
  return elements;
}

}  // namespace

struct Weights::State {
  State(const device::Device& the_device, tensor::ParameterStore& store, const DataAxis& data_axis,
        device::Arena& arena, const WeightsOptions& the_options)
      : device(the_device),
        options(the_options),
        // A group of one rank owns every bucket whole.
        sharded(options.sharded && data_axis.inside().size() > 1),
        buckets(make_buckets(store, data_axis.inside(), arena, options, sharded)),
        places(arena, place_elements(buckets, sharded), options.in_turn) {}

  [[nodiscard]] Bucket& bucket(int number) { return buckets[static_cast<std::size_t>(number)]; }
  [[nodiscard]] bool is_transient(const Bucket& bucket) const { return sharded && bucket.has_weights(); }

  void round_own(const Bucket& bucket, std::byte* whole) const;
  void start_gather(Place& place, const Bucket& bucket);
  void forget(Place& place);
  [[nodiscard]] Place& place_to_use(int number);

  const device::Device& device;
  WeightsOptions options;
  bool sharded;
  std::vector<Bucket> buckets;
  Places places;
  double exposed_seconds = 0;
};

/// Puts the own piece where it belongs in the whole bucket, in the types that the layers read.
void Weights::State::round_own(const Bucket& bucket, std::byte* whole) const {
  for (std::size_t i = 0; i < bucket.layout.owned.size(); ++i) {
    const OwnedRows& rows = bucket.layout.owned[i];
    const tensor::Tensor master{.data = bucket.own + (rows.bucket_offset - bucket.layout.own_begin),
                                .shape = {rows.elements}};
    const tensor::Tensor rounded{.data = whole + bucket.weights.owned[i],
                                 .shape = {rows.elements},
                                 .dtype = weight_dtype(*rows.parameter, options.compute)};
    if (master.data != rounded.data) kernels::cast(device, master, rounded);
  }
}

void Weights::State::start_gather(Place& place, const Bucket& next) {
  forget(place);
  places.take(place, next.number);
  round_own(next, reinterpret_cast<std::byte*>(place.memory));
  next.gather->start(place.memory);
}

/// The place holds nothing any more.
void Weights::State::forget(Place& place) {
  if (place.bucket < 0) return;
  TRIREME_EXPECT(bucket(place.bucket).users == 0);
  bucket(place.bucket).gather->finish();
  place.bucket = -1;
  places.give_back(place);
}

/// An idle place, else one whose bucket was fetched ahead but is not in use.
Place& Weights::State::place_to_use(int number) {
  if (Place* const idle = places.idle(number)) return *idle;
  std::vector<Place>& pool = places.of(number);
  const auto unused =
      std::find_if(pool.begin(), pool.end(), [&](const Place& place) { return bucket(place.bucket).users == 0; });
  TRIREME_EXPECT(unused != pool.end());
  return *unused;
}

Weights::Weights(const device::Device& device, tensor::ParameterStore& store, const DataAxis& data_axis,
                 device::Arena& arena, const WeightsOptions& options)
    : state_(std::make_unique<State>(device, store, data_axis, arena, options)) {}

Weights::~Weights() = default;

int Weights::num_buckets() const noexcept {
  return static_cast<int>(state_->buckets.size());
}

const BucketLayout& Weights::layout(int bucket) const {
  return state_->bucket(bucket).layout;
}

const WeightsOptions& Weights::options() const noexcept {
  return state_->options;
}

void Weights::draw(std::uint64_t seed) {
  for (const Bucket& bucket : state_->buckets) {
    if (!bucket.has_weights()) continue;
    for (const OwnedRows& rows : bucket.layout.owned) {
      kernels::draw_initial(state_->device, seed, *rows.parameter, rows.rectangle(),
                            bucket.own + (rows.bucket_offset - bucket.layout.own_begin));
    }
    start_share(bucket.number);
  }
  finish_share();
}

void Weights::acquire(int number) {
  Bucket& bucket = state_->bucket(number);
  if (!state_->is_transient(bucket)) return;
  Place* place = state_->places.holding(number);
  if (place == nullptr) {
    place = &state_->place_to_use(number);
    state_->start_gather(*place, bucket);
  }
  state_->places.take(*place, number);
  const Timer timer;
  bucket.gather->finish();
  state_->exposed_seconds += timer.seconds();
  ++bucket.users;
  show(bucket, reinterpret_cast<std::byte*>(place->memory), state_->options.compute);
}

void Weights::prefetch(int number) {
  const Bucket& bucket = state_->bucket(number);
  if (!state_->is_transient(bucket)) return;
  if (Place* const held = state_->places.holding(number)) {
    state_->places.take(*held, number);
  } else if (Place* const idle = state_->places.idle(number)) {
    state_->start_gather(*idle, bucket);
  }
}

void Weights::release(int number) {
  Bucket& bucket = state_->bucket(number);
  if (!state_->is_transient(bucket)) return;
  TRIREME_EXPECT(bucket.users > 0);
  if (--bucket.users > 0) return;
  state_->places.give_back(*state_->places.holding(number));
  show(bucket, nullptr, state_->options.compute);
}

void Weights::poll() {
  for (const Bucket& bucket : state_->buckets) {
    if (bucket.gather != nullptr) bucket.gather->poll();
  }
}

double Weights::exposed_seconds() const noexcept {
  return state_->exposed_seconds;
}

std::span<float> Weights::own(int number) const {
  const Bucket& bucket = state_->bucket(number);
  if (bucket.own == nullptr) return {};
  return {bucket.own, static_cast<std::size_t>(bucket.layout.own_elements())};
}

void Weights::start_share(int number) {
  const Bucket& bucket = state_->bucket(number);
  if (!bucket.has_weights()) return;
  if (!state_->sharded) {
    state_->round_own(bucket, bucket.whole);
    bucket.gather->start(bucket.whole);
  } else if (Place* const place = state_->places.holding(number)) {
    state_->forget(*place);
  }
}

void Weights::finish_share() {
  for (const Bucket& bucket : state_->buckets) {
    if (bucket.gather != nullptr) bucket.gather->finish();
  }
}

}  // namespace trireme::optim
