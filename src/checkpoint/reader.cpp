#include <algorithm>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"
#include "trireme/checkpoint/checkpoint.hpp"

#include "checkpoint/folder.hpp"
#include "checkpoint/store.hpp"

namespace trireme::checkpoint {
namespace {

constexpr std::size_t max_listed = 20;

/// What keeps the checkpoint from giving this piece; empty when nothing does.
std::string request_problem(const Store& store, const Piece& piece) {
  const std::int64_t tensor = store.find(piece.name);
  if (tensor < 0) return fmt::format("`{}` is not in it", piece.name);
  const TensorInfo& stored = store.index().tensors[static_cast<std::size_t>(tensor)];
  if (!(stored.shape == piece.global_shape)) {
    return fmt::format("`{}` has shape {}, wanted {}", piece.name, stored.shape.text(), piece.global_shape.text());
  }
  if (stored.dtype != piece.dtype) {
    return fmt::format("`{}` is {}, wanted {}", piece.name, name_of(stored.dtype), name_of(piece.dtype));
  }
  TRIREME_EXPECT(is_inside(piece.rectangle, piece.global_shape));
  return {};
}

void check_requests(const Store& store, std::span<const Piece> pieces) {
  std::vector<std::string> problems;
  for (const Piece& piece : pieces) {
    std::string problem = request_problem(store, piece);
    if (!problem.empty()) problems.push_back(std::move(problem));
  }
  if (problems.empty()) return;
  const std::size_t num_problems = problems.size();
  problems.resize(std::min(num_problems, max_listed));
  if (num_problems > max_listed) problems.push_back(fmt::format("... {} in all", num_problems));
  throw InputError(fmt::format("checkpoint `{}` does not fit the model: {}", store.folder(), join(problems, "; ")));
}

/// A stored piece that has something of a request.
struct Overlap {
  std::size_t stored;
  const Piece* request;
};

/// All overlaps in the order of the stored pieces, so that each shard is opened once.
std::vector<Overlap> find_overlaps(const Store& store, std::span<const Piece> pieces) {
  std::vector<Overlap> overlaps;
  for (const Piece& piece : pieces) {
    for (const std::size_t stored : store.pieces_of(store.find(piece.name))) {
      if (intersect(store.index().pieces[stored].rectangle, piece.rectangle)) overlaps.push_back({stored, &piece});
    }
  }
  std::stable_sort(overlaps.begin(), overlaps.end(),
                   [](const Overlap& a, const Overlap& b) { return a.stored < b.stored; });
  return overlaps;
}

}  // namespace

struct Reader::State {
  comm::Communicator& world;
  Store store;
};

Reader::Reader(comm::Communicator& world, const std::string& path) {
  std::string folder;
  Index index;
  comm::on_root(world, [&] {
    folder = find_checkpoint(path);
    index = read_index(folder);
  });
  world.broadcast_text(folder, 0);
  broadcast(world, index);
  state_ = std::make_unique<State>(State{world, Store(std::move(folder), std::move(index))});
}

Reader::~Reader() = default;

const Metadata& Reader::metadata() const noexcept {
  return state_->store.index().metadata;
}

const std::vector<TensorInfo>& Reader::tensors() const noexcept {
  return state_->store.index().tensors;
}

void Reader::read(std::span<const Piece> pieces) {
  Store& store = state_->store;
  comm::on_all(state_->world, [&] { check_requests(store, pieces); });
  comm::on_all(state_->world, [&] {
    for (const Overlap& overlap : find_overlaps(store, pieces)) {
      store.read_part(store.index().pieces[overlap.stored], overlap.request->rectangle, overlap.request->data);
    }
  });
}

}  // namespace trireme::checkpoint
