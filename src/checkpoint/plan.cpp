#include "checkpoint/plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/core.h>

#include "trireme/base/error.hpp"

#include "checkpoint/table.hpp"
#include "checkpoint/tiles.hpp"

namespace trireme::checkpoint {
namespace {

struct Given {
  TensorInfo tensor;
  SourcePiece source;
};

std::vector<Given> parse_descriptions(const std::vector<std::string>& descriptions) {
  std::vector<Given> given;
  for (std::size_t rank = 0; rank < descriptions.size(); ++rank) {
    std::size_t local = 0;
    for_each_row(descriptions[rank], "pieces in memory", 5, [&](const auto& columns) {
      const TensorInfo tensor{std::string(columns[0]), to_shape(columns[2]), to_dtype(columns[1])};
      const Shard rectangle{to_shape(columns[3]), to_shape(columns[4])};
      given.push_back({tensor, {static_cast<int>(rank), 0, local++, rectangle}});
    });
  }
  return given;
}

std::vector<TensorInfo> collect_tensors(const std::vector<Given>& given) {
  std::map<std::string, TensorInfo> by_name;
  for (const Given& one : given) {
    const auto [found, is_new] = by_name.try_emplace(one.tensor.name, one.tensor);
    const std::string problem = is_new ? tensor_problem(one.tensor) : std::string();
    if (!problem.empty()) throw SystemError(fmt::format("tensor `{}` {}", one.tensor.name, problem));
    if (!(found->second.shape == one.tensor.shape) || found->second.dtype != one.tensor.dtype) {
      throw SystemError(fmt::format("tensor `{}` is {} {} on rank {} but {} {} on a lower one", one.tensor.name,
                                    name_of(one.tensor.dtype), one.tensor.shape.text(), one.source.rank,
                                    name_of(found->second.dtype), found->second.shape.text()));
    }
  }
  std::vector<TensorInfo> tensors;
  for (auto& [name, tensor] : by_name) tensors.push_back(tensor);
  return tensors;
}

std::vector<SourcePiece> collect_sources(const std::vector<Given>& given, const std::vector<TensorInfo>& tensors) {
  std::vector<SourcePiece> sources;
  for (const Given& one : given) {
    if (one.source.rectangle.extent.size() == 0) continue;
    const auto found =
        std::lower_bound(tensors.begin(), tensors.end(), one.tensor.name,
                         [](const TensorInfo& tensor, const std::string& name) { return tensor.name < name; });
    sources.push_back(one.source);
    sources.back().tensor = found - tensors.begin();
  }
  return sources;
}

void check_covers(const Plan& plan) {
  std::vector<std::vector<Shard>> rectangles(plan.tensors.size());
  for (const SourcePiece& source : plan.sources) {
    rectangles[static_cast<std::size_t>(source.tensor)].push_back(source.rectangle);
  }
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const std::string problem = cover_problem(plan.tensors[i].shape, std::move(rectangles[i]));
    if (!problem.empty()) {
      throw SystemError(
          fmt::format("the ranks do not hold tensor `{}` exactly once: {}", plan.tensors[i].name, problem));
    }
  }
}

/// For each rank its first piece of the tensor that is in the most pieces of those it holds: there each rank of a stage
/// has its place. None where it holds nothing.
std::vector<const SourcePiece*> places_of(const Plan& plan, std::size_t num_ranks) {
  std::vector<std::int64_t> counts(plan.tensors.size());
  for (const SourcePiece& source : plan.sources) ++counts[static_cast<std::size_t>(source.tensor)];
  const auto is_better = [&](const SourcePiece& a, const SourcePiece& b) {
    const std::int64_t more = counts[static_cast<std::size_t>(a.tensor)] - counts[static_cast<std::size_t>(b.tensor)];
    if (more != 0) return more > 0;
    return a.tensor != b.tensor ? a.tensor < b.tensor : offset_less(a.rectangle, b.rectangle);
  };
  std::vector<const SourcePiece*> places(num_ranks);
  for (const SourcePiece& source : plan.sources) {
    const SourcePiece*& place = places[static_cast<std::size_t>(source.rank)];
    if (place == nullptr || is_better(source, *place)) place = &source;
  }
  return places;
}

/// All ranks, those after each other that hold what lies after each other: their numbers do not tell it, since the
/// pieces of a data axis may lie in the order of reversed bits.
std::vector<int> ranks_by_place(const Plan& plan, std::size_t num_ranks) {
  const std::vector<const SourcePiece*> places = places_of(plan, num_ranks);
  std::vector<int> ranks(num_ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
    const SourcePiece* const place_a = places[static_cast<std::size_t>(a)];
    const SourcePiece* const place_b = places[static_cast<std::size_t>(b)];
    if (place_a == nullptr || place_b == nullptr) return place_a != nullptr && place_b == nullptr;
    if (place_a->tensor != place_b->tensor) return place_a->tensor < place_b->tensor;
    return offset_less(place_a->rectangle, place_b->rectangle);
  });
  return ranks;
}

/// The ranks that are never parted, in the order of their places: those of a host, or each by itself.
std::vector<std::vector<int>> units_of(const std::vector<int>& by_place, const std::vector<std::int32_t>& hosts) {
  std::vector<std::vector<int>> units;
  std::map<std::int32_t, std::size_t> unit_of_host;
  for (const int rank : by_place) {
    const std::int32_t host = hosts.empty() ? rank : hosts[static_cast<std::size_t>(rank)];
    const auto [unit, is_new] = unit_of_host.try_emplace(host, units.size());
    if (is_new) units.emplace_back();
    units[unit->second].push_back(rank);
  }
  return units;
}

/// Sets groups and shard_of_rank for plan.units_per_file.
void group_ranks(Plan& plan, const std::vector<std::vector<int>>& units, std::size_t num_ranks) {
  plan.groups.clear();
  const auto per_file = static_cast<std::size_t>(plan.units_per_file);
  for (std::size_t i = 0; i < units.size(); ++i) {
    std::vector<int>& group = i % per_file == 0 ? plan.groups.emplace_back() : plan.groups.back();
    group.insert(group.end(), units[i].begin(), units[i].end());
  }
  for (std::vector<int>& group : plan.groups) std::sort(group.begin(), group.end());
  std::sort(plan.groups.begin(), plan.groups.end());
  plan.shard_of_rank.resize(num_ranks);
  for (std::size_t shard = 0; shard < plan.groups.size(); ++shard) {
    for (const int rank : plan.groups[shard]) {
      plan.shard_of_rank[static_cast<std::size_t>(rank)] = static_cast<std::int64_t>(shard);
    }
  }
}

/// The pieces on disk when so many ranks share a file: each file holds a tensor in as few rectangles as its ranks
/// allow.
std::vector<StoredPiece> arrange(const Plan& plan) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Shard>> by_shard_and_tensor;
  for (const SourcePiece& source : plan.sources) {
    by_shard_and_tensor[{plan.shard_of(source.rank), source.tensor}].push_back(source.rectangle);
  }
  std::vector<StoredPiece> pieces;
  for (auto& [key, rectangles] : by_shard_and_tensor) {
    const TensorInfo& tensor = plan.tensors[static_cast<std::size_t>(key.second)];
    std::int64_t number = 0;
    // One file for all ranks holds every tensor whole, whatever its parts in memory.
    rectangles =
        plan.num_shards() == 1 ? std::vector{tensor::whole(tensor.shape)} : join_neighbours(std::move(rectangles));
    for (const Shard& rectangle : rectangles) {
      pieces.push_back({key.second, key.first, number++, rectangle, tile_extent(rectangle.extent, tensor.dtype), 0});
    }
  }
  return pieces;
}

std::size_t most_pieces(const Plan& plan) {
  std::vector<std::size_t> counts(plan.tensors.size() + 1);
  for (const StoredPiece& piece : plan.pieces) ++counts[static_cast<std::size_t>(piece.tensor)];
  return *std::max_element(counts.begin(), counts.end());
}

}  // namespace

int Plan::writer_of(std::int64_t shard) const {
  const std::vector<int>& group = group_of(shard);
  return group[static_cast<std::size_t>(group.front()) % group.size()];
}

std::string describe(std::span<const Piece> pieces) {
  std::string text;
  for (const Piece& piece : pieces) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\n", piece.name, name_of(piece.dtype), column_of(piece.global_shape),
                        column_of(piece.rectangle.offset), column_of(piece.rectangle.extent));
  }
  return text;
}

Plan make_plan(const std::vector<std::string>& descriptions, std::int64_t ranks_per_file,
               const std::vector<std::int32_t>& hosts) {
  const std::vector<Given> given = parse_descriptions(descriptions);
  Plan plan;
  plan.tensors = collect_tensors(given);
  plan.sources = collect_sources(given, plan.tensors);
  check_covers(plan);
  const bool by_host = ranks_per_file == ranks_of_a_node;
  const std::vector<std::vector<int>> units =
      units_of(ranks_by_place(plan, descriptions.size()), by_host ? hosts : std::vector<std::int32_t>{});
  for (plan.units_per_file = by_host ? 1 : ranks_per_file;; plan.units_per_file *= 2) {
    group_ranks(plan, units, descriptions.size());
    plan.pieces = arrange(plan);
    if (plan.num_shards() == 1 || most_pieces(plan) <= max_pieces_per_tensor) break;
  }
  number_tiles(plan.pieces, plan.groups.size());
  for (const TensorInfo& tensor : plan.tensors) {
    plan.payload_bytes += static_cast<std::uint64_t>(tensor.shape.size()) * size_of(tensor.dtype);
  }
  return plan;
}

}  // namespace trireme::checkpoint
