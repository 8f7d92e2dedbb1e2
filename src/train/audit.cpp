#include "train/audit.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <span>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/base/text.hpp"
#include "trireme/base/timer.hpp"
#include "trireme/base/units.hpp"
#include "trireme/kernels/reduce.hpp"
#include "trireme/model/stage.hpp"

#include "train/first_text.hpp"

namespace trireme::train {

using comm::Axis;
using optim::StatePart;
using tensor::Parameter;
using tensor::Replicas;

namespace {

/// The place of the first number that ranks do not share, or that of the end. A double holds half of one exactly.
std::size_t first_unequal(comm::Communicator& ranks, std::span<const std::uint64_t> numbers) {
  std::vector<double> bounds;
  for (const std::uint64_t number : numbers) {
    const auto high = static_cast<double>(number >> 32U);
    const auto low = static_cast<double>(number & 0xFFFFFFFFU);
    bounds.insert(bounds.end(), {high, -high, low, -low});
  }
  ranks.all_reduce_max(bounds);
  std::size_t at = 0;
  while (at < numbers.size() && bounds[4 * at] == -bounds[4 * at + 1] && bounds[4 * at + 2] == -bounds[4 * at + 3]) {
    ++at;
  }
  return at;
}

/// Adds, modulo 2^64, what the ranks have.
void add_up(comm::Communicator& ranks, std::vector<std::uint64_t>& numbers) {
  std::vector<std::int64_t> words(numbers.begin(), numbers.end());
  ranks.all_reduce_sum(words);
  std::copy(words.begin(), words.end(), numbers.begin());
}

/// The fingerprints of a comparison, entry by entry.
template <class Comparison, class Prints>
std::vector<std::uint64_t> numbers_of(const Comparison& comparison, const Prints& prints) {
  std::vector<std::uint64_t> numbers;
  for (const Parameter* entry : comparison.entries) {
    const auto found = prints.find(entry);
    for (const StatePart part : comparison.parts) {
      numbers.push_back(found == prints.end() ? 0 : found->second[static_cast<std::size_t>(part)]);
    }
  }
  return numbers;
}

/// One number for all. Linear, so that it may be added over pieces; each factor is odd, so that one other fingerprint
/// always makes another sum, and no two are equal, so that entries do not change places unseen.
std::uint64_t combined(const std::vector<std::uint64_t>& numbers) {
  std::uint64_t sum = 0;
  std::uint64_t factor = 1;
  for (const std::uint64_t number : numbers) {
    sum += factor * number;
    factor += 0x9E3779B97F4A7C16U;
  }
  return sum;
}

/// `a, b, c and 5 more`
std::string list_of(const std::vector<int>& ranks) {
  constexpr std::size_t shown = 6;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(shown, ranks.size()); ++i) names.push_back(fmt::format("{}", ranks[i]));
  std::string text = fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", join(names));
  if (ranks.size() > shown) text += fmt::format(" and {} more", ranks.size() - shown);
  return text;
}

}  // namespace

Audit::Audit(const Subjects& subjects, const model::ModelOptions& model) : subjects_(subjects) {
  const std::vector<StatePart> whole{StatePart::weights};
  const std::vector<StatePart> pieces{StatePart::masters, StatePart::first_moment, StatePart::second_moment};
  const optim::DataAxis& data = subjects.data_axis;
  add({"along the data axis", &data.whole(), nullptr, whole, entries_of({})});
  add({"between sharding groups", &data.across(), nullptr, pieces, entries_of({})});
  // The ranks of an axis may cut a bucket in other places, as their slices differ in size: there whole tensors are
  // compared.
  const auto add_both = [&](std::string_view where, comm::Communicator& ranks, Replicas replicas) {
    add({where, &ranks, nullptr, whole, entries_of(replicas)});
    add({where, &ranks, &data.inside(), pieces, entries_of(replicas)});
  };
  add_both("along the tensor axis", subjects.grid.along(Axis::tensor), Replicas::tensor_axis);
  if (comm::Communicator* const group = subjects.tensor_axis.kv_group()) {
    add_both("in a group of the tensor axis that shares keys and values", *group, Replicas::kv_slices);
  }
  compare_tied_tables(model);
}

void Audit::add(Comparison comparison) {
  if (comparison.ranks->size() > 1 && !comparison.entries.empty()) comparisons_.push_back(std::move(comparison));
}

void Audit::compare_tied_tables(const model::ModelOptions& model) {
  comm::Communicator& stages = subjects_.grid.along(Axis::pipeline);
  if (!model.tied_embeddings || stages.size() == 1) return;
  const int last = stages.size() - 1;
  ends_ = stages.split([last](int rank) { return rank == last ? 0 : rank; });
  const bool is_first = stages.rank() == 0;
  const bool is_last = stages.rank() == last;
  if (!is_first && !is_last) return;
  const int bucket = is_first ? model::BucketNumbers::token : model::BucketNumbers::far_table(model.layers);
  const std::vector<Parameter*>& entries = subjects_.weights.layout(bucket).parameters;
  add({"between the first and the last stage",
       ends_.get(),
       nullptr,
       {StatePart::weights, StatePart::masters},
       {entries.begin(), entries.end()}});
}

std::vector<const Parameter*> Audit::entries_of(std::optional<Replicas> replicas) const {
  std::vector<const Parameter*> entries;
  for (int bucket = 0; bucket < subjects_.weights.num_buckets(); ++bucket) {
    const optim::BucketLayout& layout = subjects_.weights.layout(bucket);
    if (layout.gradient_only()) continue;
    for (const Parameter* parameter : layout.parameters) {
      if (!replicas || parameter->replicas == *replicas) entries.push_back(parameter);
    }
  }
  return entries;
}

/// Of what any comparison wants.
Audit::Prints Audit::fingerprints() const {
  std::unordered_map<const Parameter*, std::array<bool, optim::num_state_parts>> wanted;
  for (const Comparison& comparison : comparisons_) {
    for (const Parameter* entry : comparison.entries) {
      for (const StatePart part : comparison.parts) wanted[entry][static_cast<std::size_t>(part)] = true;
    }
  }
  Prints prints;
  for (const optim::HeldArray& array : optim::held_state(subjects_.weights, subjects_.optimizer)) {
    const auto part = static_cast<std::size_t>(array.part);
    if (!wanted[array.parameter][part]) continue;
    prints[array.parameter][part] += optim::fingerprint_of(subjects_.device, array);
  }
  return prints;
}

bool Audit::all_alike(const Comparison& comparison, const Prints& prints) const {
  std::vector<std::uint64_t> number{combined(numbers_of(comparison, prints))};
  if (comparison.pieces != nullptr) add_up(*comparison.pieces, number);
  return first_unequal(*comparison.ranks, number) == 1;
}

/// What differs, and on which ranks; empty when nothing does. Collective over the ranks of the comparison.
std::string Audit::difference(const Comparison& comparison, const Prints& prints) const {
  std::vector<std::uint64_t> numbers = numbers_of(comparison, prints);
  if (comparison.pieces != nullptr) add_up(*comparison.pieces, numbers);
  const std::size_t at = first_unequal(*comparison.ranks, numbers);
  if (at == numbers.size()) return {};
  const StatePart part = comparison.parts[at % comparison.parts.size()];
  return fmt::format("the {} of `{}` differ {}: {}", optim::name_of(part),
                     comparison.entries[at / comparison.parts.size()]->name, comparison.where,
                     who_differs(*comparison.ranks, numbers[at]));
}

std::string Audit::rank_text(int world_rank) const {
  return fmt::format("rank {} (`{}`)", world_rank, subjects_.grid.hosts()[static_cast<std::size_t>(world_rank)]);
}

/// Who has another number than most, or than the lowest rank where no number is that of most.
std::string Audit::who_differs(comm::Communicator& ranks, std::uint64_t mine) const {
  struct Rank {
    std::uint64_t number;
    std::int64_t world_rank;
  };
  const Rank own{mine, subjects_.grid.world().rank()};
  std::vector<Rank> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, sizeof(own), all.data());

  std::map<std::uint64_t, std::size_t> times;
  for (const Rank& rank : all) ++times[rank.number];
  std::uint64_t usual = all.front().number;
  for (const auto& [number, count] : times) {
    if (count > times[usual]) usual = number;
  }
  std::vector<int> others;
  std::vector<int> alike;
  for (const Rank& rank : all) (rank.number == usual ? alike : others).push_back(static_cast<int>(rank.world_rank));
  std::string text = fmt::format("{} not as {}", rank_text(others.front()), list_of(alike));
  if (others.size() > 1) text += fmt::format(", nor {}", list_of({others.begin() + 1, others.end()}));
  if (2 * alike.size() <= all.size())
    text += fmt::format(", either may be wrong, that on {} too", rank_text(alike.front()));
  return text;
}

std::string Audit::counter_difference(const Counters& counters) const {
  const std::array<std::uint64_t, 4> numbers{
      static_cast<std::uint64_t>(counters.step), static_cast<std::uint64_t>(counters.skipped),
      std::bit_cast<std::uint64_t>(counters.loss_scale), static_cast<std::uint64_t>(counters.loss_scale_good_steps)};
  constexpr std::array names{"steps", "skipped updates", "loss scale", "good steps of the loss scale"};
  const std::size_t at = first_unequal(subjects_.grid.world(), numbers);
  if (at == numbers.size()) return {};
  return fmt::format("the counters of ranks differ ({}): {}", names[at],
                     who_differs(subjects_.grid.world(), numbers[at]));
}

std::string Audit::first_nonfinite() const {
  for (const optim::StatePiece& piece : subjects_.optimizer.state()) {
    const auto is_bad = [&](float* data) {
      return data != nullptr &&
             !kernels::all_finite(subjects_.device, {.data = data, .shape = {piece.rectangle.extent.size()}});
    };
    const char* const what = is_bad(piece.weight)          ? "weights"
                             : is_bad(piece.first_moment)  ? "first moments"
                             : is_bad(piece.second_moment) ? "second moments"
                                                           : nullptr;
    if (what != nullptr) {
      return fmt::format("the {} of `{}` are not finite on {}", what, piece.parameter->name,
                         rank_text(subjects_.grid.world().rank()));
    }
  }
  return {};
}

void Audit::run(const Counters& counters, bool replicas, bool finite) {
  comm::Communicator& world = subjects_.grid.world();
  if (replicas && world.size() > 1) {
    const Timer timer;
    const Prints prints = fingerprints();
    bool alike = true;
    for (const Comparison& comparison : comparisons_) alike = all_alike(comparison, prints) && alike;
    std::string text = counter_difference(counters);
    if (text.empty() && world.any(!alike)) {
      std::string mine;
      for (const Comparison& comparison : comparisons_) {
        const std::string found = difference(comparison, prints);
        if (mine.empty()) mine = found;
      }
      text = first_text(world, mine);
    }
    if (!text.empty()) {
      throw NumericalError(
          fmt::format("step {}: {} (the bits were equal once; memory or processor of a host may be at fault, nothing "
                      "was saved) run "
                      "again to go on from the last checkpoint, without that host if it happens again",
                      counters.step, text));
    }
    log::debug("step {}: replicas compared in {}", counters.step, format_seconds(timer.seconds()));
  }
  if (!finite) return;
  const std::string text = first_text(world, first_nonfinite());
  if (text.empty()) return;
  throw NumericalError(
      fmt::format("step {}: {} (the update left the range of fp32; nothing was saved) lower the learning rate and run "
                  "again to go on from the last checkpoint",
                  counters.step, text));
}

}  // namespace trireme::train
