#include "checkpoint/plan.hpp"

#include <algorithm>
#include <map>

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
    rectangles = plan.ranks_per_file >= plan.num_ranks ? std::vector{tensor::whole(tensor.shape)}
                                                       : join_neighbours(std::move(rectangles));
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

std::string describe(std::span<const Piece> pieces) {
  std::string text;
  for (const Piece& piece : pieces) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\n", piece.name, name_of(piece.dtype), column_of(piece.global_shape),
                        column_of(piece.rectangle.offset), column_of(piece.rectangle.extent));
  }
  return text;
}

Plan make_plan(const std::vector<std::string>& descriptions, std::int64_t ranks_per_file) {
  const std::vector<Given> given = parse_descriptions(descriptions);
  Plan plan;
  plan.num_ranks = static_cast<std::int64_t>(descriptions.size());
  plan.tensors = collect_tensors(given);
  plan.sources = collect_sources(given, plan.tensors);
  check_covers(plan);
  for (plan.ranks_per_file = ranks_per_file;; plan.ranks_per_file *= 2) {
    plan.pieces = arrange(plan);
    if (plan.ranks_per_file >= plan.num_ranks || most_pieces(plan) <= max_pieces_per_tensor) break;
  }
  plan.num_shards = (plan.num_ranks + plan.ranks_per_file - 1) / plan.ranks_per_file;
  number_tiles(plan.pieces, static_cast<std::size_t>(plan.num_shards));
  for (const TensorInfo& tensor : plan.tensors) {
    plan.payload_bytes += static_cast<std::uint64_t>(tensor.shape.size()) * size_of(tensor.dtype);
  }
  return plan;
}

}  // namespace trireme::checkpoint
