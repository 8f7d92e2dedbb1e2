// What each rank gets to know of the plan.
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "trireme/base/error.hpp"

#include "checkpoint/plan.hpp"
#include "checkpoint/table.hpp"

namespace trireme::checkpoint {
namespace {

/// The rows of a range that is ordered by `key`.
template <class Row, class Value, class Key>
std::span<const Row> rows_of(const std::vector<Row>& rows, const Value& value, const Key& key) {
  const auto first =
      std::lower_bound(rows.begin(), rows.end(), value, [&](const Row& row, const Value& v) { return key(row) < v; });
  const auto last =
      std::upper_bound(first, rows.end(), value, [&](const Value& v, const Row& row) { return v < key(row); });
  return {first, last};
}

/// The sources of the ranks, which ascend, by tensor.
std::vector<SourcePiece> sources_of_ranks(const Plan& plan, std::span<const int> ranks) {
  std::vector<SourcePiece> sources;
  for (const int rank : ranks) {
    const auto rows = rows_of(plan.sources, rank, [](const SourcePiece& source) { return source.rank; });
    sources.insert(sources.end(), rows.begin(), rows.end());
  }
  std::stable_sort(sources.begin(), sources.end(),
                   [](const SourcePiece& a, const SourcePiece& b) { return a.tensor < b.tensor; });
  return sources;
}

/// The pieces of the shard that hold something of the sources.
std::vector<StoredPiece> pieces_touched(const Plan& plan, std::int64_t shard, const std::vector<SourcePiece>& sources) {
  std::vector<StoredPiece> pieces;
  for (std::size_t i = 0; i < sources.size();) {
    const std::int64_t tensor = sources[i].tensor;
    std::size_t end = i;
    while (end < sources.size() && sources[end].tensor == tensor) ++end;
    const auto candidates = rows_of(plan.pieces, std::array{shard, tensor}, [](const StoredPiece& piece) {
      return std::array{piece.shard, piece.tensor};
    });
    for (const StoredPiece& piece : candidates) {
      const bool touches = std::any_of(
          sources.begin() + static_cast<std::ptrdiff_t>(i), sources.begin() + static_cast<std::ptrdiff_t>(end),
          [&](const SourcePiece& source) { return intersect(source.rectangle, piece.rectangle).has_value(); });
      if (touches) pieces.push_back(piece);
    }
    i = end;
  }
  return pieces;
}

/// Numbers the tensors anew: only those of the part are in it.
void take_tensors(const Plan& plan, PlanPart& part) {
  std::vector<std::int64_t> needed;
  for (const SourcePiece& source : part.sources) {
    if (needed.empty() || needed.back() != source.tensor) needed.push_back(source.tensor);
  }
  const auto number_of = [&](std::int64_t tensor) {
    return std::lower_bound(needed.begin(), needed.end(), tensor) - needed.begin();
  };
  for (const std::int64_t tensor : needed) part.tensors.push_back(plan.tensors[static_cast<std::size_t>(tensor)]);
  for (SourcePiece& source : part.sources) source.tensor = number_of(source.tensor);
  for (StoredPiece& piece : part.pieces) piece.tensor = number_of(piece.tensor);
}

/// The tables of a text that were put one after the other.
constexpr char table_end = '\f';

std::string next_table(std::string& rest) {
  const std::size_t end = rest.find(table_end);
  if (end == std::string::npos) throw InputError("the plan's part is cut");
  std::string table = rest.substr(0, end);
  rest.erase(0, end + 1);
  return table;
}

}  // namespace

std::size_t PlanPart::largest_tile() const {
  std::size_t largest = 0;
  for (const StoredPiece& piece : pieces) {
    largest = std::max(largest, static_cast<std::size_t>(piece.tile.size()) * size_of(tensor_of(piece).dtype));
  }
  return largest;
}

std::span<const SourcePiece> PlanPart::sources_of(const StoredPiece& piece) const {
  return rows_of(sources, piece.tensor, [](const SourcePiece& source) { return source.tensor; });
}

PlanPart part_of(const Plan& plan, int rank) {
  PlanPart part;
  part.shard = plan.shard_of(rank);
  part.writer = plan.writer_of(part.shard);
  part.num_shards = plan.num_shards();
  part.payload_bytes = plan.payload_bytes;
  part.sources = rank == part.writer ? sources_of_ranks(plan, plan.group_of(part.shard))
                                     : sources_of_ranks(plan, std::span(&rank, 1));
  part.pieces = pieces_touched(plan, part.shard, part.sources);
  take_tensors(plan, part);
  return part;
}

std::string text_of(const PlanPart& part) {
  std::string text =
      fmt::format("{}\t{}\t{}\t{}\n", part.shard, part.writer, part.num_shards, part.payload_bytes) + table_end;
  for (const TensorInfo& tensor : part.tensors) {
    text += fmt::format("{}\t{}\t{}\n", tensor.name, name_of(tensor.dtype), column_of(tensor.shape));
  }
  text += table_end;
  for (const SourcePiece& source : part.sources) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\n", source.rank, source.tensor, source.local,
                        column_of(source.rectangle.offset), column_of(source.rectangle.extent));
  }
  text += table_end;
  for (const StoredPiece& piece : part.pieces) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\n", piece.tensor, piece.number, column_of(piece.rectangle.offset),
                        column_of(piece.rectangle.extent), column_of(piece.tile));
  }
  return text + table_end;
}

PlanPart parse_part(const std::string& text) {
  PlanPart part;
  std::string rest = text;
  for_each_row(next_table(rest), "part", 4, [&](const auto& columns) {
    part.shard = to_integer(columns[0]);
    part.writer = static_cast<int>(to_integer(columns[1]));
    part.num_shards = to_integer(columns[2]);
    part.payload_bytes = to_unsigned(columns[3]);
  });
  for_each_row(next_table(rest), "tensors", 3, [&](const auto& columns) {
    part.tensors.push_back({std::string(columns[0]), to_shape(columns[2]), to_dtype(columns[1])});
  });
  for_each_row(next_table(rest), "sources", 5, [&](const auto& columns) {
    part.sources.push_back({static_cast<int>(to_integer(columns[0])),
                            to_integer(columns[1]),
                            static_cast<std::size_t>(to_unsigned(columns[2])),
                            {to_shape(columns[3]), to_shape(columns[4])}});
  });
  for_each_row(next_table(rest), "pieces", 5, [&](const auto& columns) {
    part.pieces.push_back({to_integer(columns[0]),
                           part.shard,
                           to_integer(columns[1]),
                           {to_shape(columns[2]), to_shape(columns[3])},
                           to_shape(columns[4]),
                           0});
  });
  return part;
}

}  // namespace trireme::checkpoint
