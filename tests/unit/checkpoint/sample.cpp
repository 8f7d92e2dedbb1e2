#include "unit/checkpoint/sample.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "trireme/base/error.hpp"
#include "trireme/io/file.hpp"
#include "trireme/io/hash.hpp"

namespace trireme::checkpoint::test {
namespace {

std::int64_t global_index(const Shape& shape, const Shape& at) {
  std::int64_t index = 0;
  for (int dim = 0; dim < shape.num_dims(); ++dim) index = index * shape[dim] + at[dim];
  return index;
}

/// Calls visit(global index) for each element of the rectangle, row-major.
template <class Visit>
void for_each_element(const Shape& shape, const Shard& rectangle, Visit&& visit) {
  for (std::int64_t i = 0; i < rectangle.extent.size(); ++i) {
    Shape at = rectangle.offset;
    std::int64_t rest = i;
    for (int dim = shape.num_dims() - 1; dim >= 0; --dim) {
      at[dim] += rest % rectangle.extent[dim];
      rest /= rectangle.extent[dim];
    }
    visit(global_index(shape, at));
  }
}

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

}  // namespace

std::vector<TensorInfo> sample_tensors() {
  return {{"weights/embedding.weight", {1021, 769}, Dtype::f32},
          {"weights/blocks.0.norm.weight", {17}, Dtype::f32},
          {"weights/one", {1}, Dtype::f32},
          {"weights/row", {1, 300007}, Dtype::f32},
          {"weights/cube", {3, 5, 7, 11}, Dtype::f32},
          {"moments/first/embedding.weight", {1021, 769}, Dtype::f32},
          {"moments/second/blocks.0.norm.weight", {17}, Dtype::f32},
          {"moments/second/narrow", {70001, 4}, Dtype::f32},
          {"weights/half", {37, 41}, Dtype::bf16},
          {"weights/integers", {5, 3}, Dtype::i64}};
}

Metadata sample_metadata(std::int64_t step) {
  Metadata metadata;
  metadata.step = step;
  metadata.samples = step * 32;
  metadata.tokens = (std::int64_t{1} << 40) + step;
  metadata.skipped = 2;
  metadata.loss_scale = 65536.0 / 3;
  metadata.loss_scale_good_steps = 7;
  metadata.deck = "[run]\nname = \"sample\"\n" + std::string(40000, '#');
  metadata.tokenizer_kind = "byte";
  metadata.tokenizer_model = std::string("a\0b\xff", 4);
  metadata.build = "0.1.0 test";
  metadata.isa = "avx2";
  metadata.precision = "bf16";
  metadata.grid = "2x1x1";
  return metadata;
}

void write_element(const TensorInfo& tensor, std::int64_t index, void* to) {
  const std::uint64_t bits =
      mix(io::hash64(tensor.name.data(), tensor.name.size()) + static_cast<std::uint64_t>(index));
  if (tensor.dtype == Dtype::f32) {
    const float value = static_cast<float>(static_cast<std::int64_t>(bits % 20000001) - 10000000) / 1048576.0F;
    std::memcpy(to, &value, sizeof value);
  } else if (tensor.dtype == Dtype::bf16) {
    const auto value = static_cast<std::uint16_t>(bits & 0x3fff);
    std::memcpy(to, &value, sizeof value);
  } else {
    std::memcpy(to, &bits, sizeof bits);
  }
}

std::vector<Shard> cut_flat(const Shape& shape, std::int64_t begin, std::int64_t end) {
  const std::int64_t columns = shape.columns();
  const auto row_part = [&](std::int64_t first, std::int64_t rows, std::int64_t column, std::int64_t count) {
    Shard part = tensor::whole(shape);
    part.offset[0] = first;
    part.extent[0] = rows;
    part.offset[1] = column;
    part.extent[1] = count;
    return part;
  };
  if (begin == end) return {};
  if (shape.num_dims() == 1) return {Shard{{begin}, {end - begin}}};
  const std::int64_t first = begin / columns;
  const std::int64_t last = end / columns;
  if (first == last) return {row_part(first, 1, begin % columns, end - begin)};
  std::vector<Shard> parts;
  if (begin % columns != 0) parts.push_back(row_part(first, 1, begin % columns, columns - begin % columns));
  const std::int64_t whole_from = (begin + columns - 1) / columns;
  if (last > whole_from) parts.push_back(row_part(whole_from, last - whole_from, 0, columns));
  if (end % columns != 0) parts.push_back(row_part(last, 1, 0, end % columns));
  return parts;
}

Shard cut_along(const Shape& shape, int dim, std::int64_t part, std::int64_t num_parts) {
  Shard cut = tensor::whole(shape);
  const std::int64_t begin = shape[dim] * part / num_parts;
  cut.offset[dim] = begin;
  cut.extent[dim] = shape[dim] * (part + 1) / num_parts - begin;
  return cut;
}

void Holding::add_empty(const TensorInfo& tensor, const Shard& rectangle) {
  memory_.emplace_back(static_cast<std::size_t>(rectangle.extent.size()) * size_of(tensor.dtype));
  pieces_.push_back({tensor.name, tensor.shape, tensor.dtype, rectangle, memory_.back().data()});
}

void Holding::add(const TensorInfo& tensor, const Shard& rectangle) {
  add_empty(tensor, rectangle);
  std::byte* at = memory_.back().data();
  for_each_element(tensor.shape, rectangle, [&](std::int64_t index) {
    write_element(tensor, index, at);
    at += size_of(tensor.dtype);
  });
}

std::string Holding::first_wrong() const {
  for (const Piece& piece : pieces_) {
    Holding expected;
    expected.add({piece.name, piece.global_shape, piece.dtype}, piece.rectangle);
    const std::vector<std::byte>& right = expected.memory_.back();
    if (!right.empty() && std::memcmp(piece.data, right.data(), right.size()) != 0) return piece.name;
  }
  return {};
}

Holding everything() {
  Holding holding;
  for (const TensorInfo& tensor : sample_tensors()) holding.add(tensor, tensor::whole(tensor.shape));
  return holding;
}

Holding part_of(int rank, int num_ranks) {
  Holding holding;
  std::int64_t number = 0;
  for (const TensorInfo& tensor : sample_tensors()) {
    const bool flat = tensor.shape.num_dims() <= 2 && number++ % 2 == 0;
    if (flat) {
      const std::int64_t size = tensor.shape.size();
      for (const Shard& part : cut_flat(tensor.shape, size * rank / num_ranks, size * (rank + 1) / num_ranks)) {
        holding.add(tensor, part);
      }
    } else {
      holding.add(tensor, cut_along(tensor.shape, tensor.shape.num_dims() - 1, rank, num_ranks));
    }
  }
  return holding;
}

Holding empty_columns(int rank, int num_ranks) {
  Holding holding;
  for (const TensorInfo& tensor : sample_tensors()) {
    holding.add_empty(tensor, cut_along(tensor.shape, tensor.shape.num_dims() - 1, rank, num_ranks));
  }
  return holding;
}

std::string save_sample(const std::string& folder, std::int64_t step) {
  const auto self = comm::make_self_communicator();
  const Holding holding = everything();
  save(*self, folder, sample_metadata(step), holding.pieces(), {});
  return step_folder(folder, step);
}

std::string load_problem(const std::string& path) {
  try {
    const auto self = comm::make_self_communicator();
    Reader reader(*self, path);
    Holding holding = empty_columns(0, 1);
    reader.read(holding.pieces());
    return holding.first_wrong();
  } catch (const Error& error) {
    return error.what();
  }
}

std::string contents(const std::string& folder) {
  std::string all;
  for (const std::string& name : io::list_folder(folder)) {
    const std::string path = folder + "/" + name;
    all += name + (io::is_folder(path) ? "/\n" + contents(path) : ":\n" + io::read_text(path)) + "\n";
  }
  return all;
}

}  // namespace trireme::checkpoint::test
