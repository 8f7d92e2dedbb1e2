// index.h5 on disk and on the wire.
#include <array>
#include <bit>

#include <fmt/core.h>

#include "trireme/base/error.hpp"
#include "trireme/io/file.hpp"

#include "checkpoint/extents.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/index.hpp"
#include "checkpoint/table.hpp"

namespace trireme::checkpoint {
namespace {

constexpr const char* hash_attribute = "xxh3_128";

/// A text as a dataset of bytes with its hash as attribute (attributes are covered by the hash of the file's metadata).
void write_hashed(hdf5::Writer& writer, const std::string& path, const std::string& text) {
  writer.write_bytes(path, text);
  writer.attribute(path, hash_attribute, column_of(io::hash128(text.data(), text.size())));
}

std::string read_hashed(const hdf5::Reader& reader, const std::string& path) {
  std::string text = reader.read_bytes(path);
  if (column_of(io::hash128(text.data(), text.size())) != reader.text_attribute(path, hash_attribute)) {
    throw InputError(fmt::format("`{}`: dataset `{}` is damaged (its hash differs)", reader.path(), path));
  }
  return text;
}

void write_virtual_datasets(hdf5::Writer& writer, const Index& index) {
  std::vector<std::vector<hdf5::VirtualSource>> sources(index.tensors.size());
  for (const StoredPiece& piece : index.pieces) {
    sources[static_cast<std::size_t>(piece.tensor)].push_back(
        {shard_name(piece.shard), dataset_of(index.tensor_of(piece), piece), extents_of(piece.rectangle.offset),
         extents_of(piece.rectangle.extent)});
  }
  for (std::size_t i = 0; i < index.tensors.size(); ++i) {
    const TensorInfo& tensor = index.tensors[i];
    writer.create_virtual("/" + tensor.name, extents_of(tensor.shape), tensor.dtype, sources[i]);
  }
  // What is stored of a half-precision run are its masters.
  if (index.metadata.precision != "fp32") writer.link("/weights", "/masters");
}

void write_attributes(hdf5::Writer& writer, const Index& index) {
  const Metadata& metadata = index.metadata;
  writer.attribute("/", "format", std::string(index_format));
  writer.attribute("/", "version", format_version);
  writer.attribute("/", "save_id", index.save_id);
  writer.attribute("/", "written_unix_s", index.written_unix_s);
  writer.attribute("/", "step", metadata.step);
  writer.attribute("/", "samples", metadata.samples);
  writer.attribute("/", "tokens", metadata.tokens);
  writer.attribute("/", "skipped", metadata.skipped);
  writer.attribute("/", "loss_scale", metadata.loss_scale);
  writer.attribute("/", "loss_scale_good_steps", metadata.loss_scale_good_steps);
  writer.attribute("/", "tokenizer_kind", metadata.tokenizer_kind);
  writer.attribute("/", "build", metadata.build);
  writer.attribute("/", "isa", metadata.isa);
  writer.attribute("/", "precision", metadata.precision);
  writer.attribute("/", "grid", metadata.grid);
}

void check_format(const hdf5::Reader& reader) {
  if (!reader.has_attribute("/", "format") || reader.text_attribute("/", "format") != index_format) {
    throw InputError(fmt::format("`{}` is not the index of a checkpoint", reader.path()));
  }
  const std::int64_t version = reader.integer_attribute("/", "version");
  if (version < 1 || version > format_version) {
    throw InputError(
        fmt::format("`{}` has format version {} (this build reads up to {}) use the build that wrote it, or a "
                    "newer one",
                    reader.path(), version, format_version));
  }
}

Metadata read_metadata(const hdf5::Reader& reader) {
  Metadata metadata;
  metadata.step = reader.integer_attribute("/", "step");
  metadata.samples = reader.integer_attribute("/", "samples");
  metadata.tokens = reader.integer_attribute("/", "tokens");
  metadata.skipped = reader.integer_attribute("/", "skipped");
  metadata.loss_scale = reader.real_attribute("/", "loss_scale");
  metadata.loss_scale_good_steps = reader.integer_attribute("/", "loss_scale_good_steps");
  metadata.tokenizer_kind = reader.text_attribute("/", "tokenizer_kind");
  metadata.build = reader.text_attribute("/", "build");
  metadata.isa = reader.text_attribute("/", "isa");
  // Files from before there was a choice lack it.
  if (reader.has_attribute("/", "precision")) metadata.precision = reader.text_attribute("/", "precision");
  metadata.grid = reader.text_attribute("/", "grid");
  metadata.deck = read_hashed(reader, "/deck");
  metadata.tokenizer_model = read_hashed(reader, "/tokenizer");
  return metadata;
}

/// A folder named by another step was renamed or copied by hand: its place among the others would mislead.
void check_folder_name(const std::string& folder, const Index& index) {
  const auto step = step_of_name(base_name(folder));
  if (step && *step != index.metadata.step) {
    throw InputError(fmt::format("`{}/{}` is of step {} (the folder was renamed or copied) name it `{}`", folder,
                                 index_name, index.metadata.step, step_name(index.metadata.step)));
  }
}

void broadcast_numbers(comm::Communicator& world, Index& index) {
  Metadata& metadata = index.metadata;
  std::array<std::int64_t, 8> numbers{metadata.step,
                                      metadata.samples,
                                      metadata.tokens,
                                      metadata.skipped,
                                      std::bit_cast<std::int64_t>(metadata.loss_scale),
                                      metadata.loss_scale_good_steps,
                                      index.written_unix_s,
                                      static_cast<std::int64_t>(index.index_bytes)};
  world.broadcast(numbers.data(), sizeof numbers, 0);
  metadata.step = numbers[0];
  metadata.samples = numbers[1];
  metadata.tokens = numbers[2];
  metadata.skipped = numbers[3];
  metadata.loss_scale = std::bit_cast<double>(numbers[4]);
  metadata.loss_scale_good_steps = numbers[5];
  index.written_unix_s = numbers[6];
  index.index_bytes = static_cast<std::uint64_t>(numbers[7]);
}

}  // namespace

hdf5::Finished write_index(const std::string& path, const Index& index) {
  hdf5::Writer writer(path);
  write_attributes(writer, index);
  write_hashed(writer, "/deck", index.metadata.deck);
  write_hashed(writer, "/tokenizer", index.metadata.tokenizer_model);
  const Tables tables = tables_of(index);
  write_hashed(writer, "/table/tensors", tables.tensors);
  write_hashed(writer, "/table/pieces", tables.pieces);
  write_hashed(writer, "/table/shards", tables.shards);
  write_virtual_datasets(writer, index);
  return writer.finish();
}

Index read_index(const std::string& folder) {
  const std::string path = folder + "/" + index_name;
  if (!io::exists(path)) throw InputError(fmt::format("`{}` is missing", path));
  const hdf5::Reader reader(path);
  check_format(reader);
  Index index;
  index.metadata = read_metadata(reader);
  index.save_id = reader.text_attribute("/", "save_id");
  index.written_unix_s = reader.integer_attribute("/", "written_unix_s");
  index.index_bytes = io::File(path, io::File::Mode::read).size();
  try {
    parse_tables({read_hashed(reader, "/table/tensors"), read_hashed(reader, "/table/pieces"),
                  read_hashed(reader, "/table/shards")},
                 index);
  } catch (const InputError& error) {
    throw InputError(fmt::format("`{}` is damaged: {}", path, error.what()));
  }
  check_folder_name(folder, index);
  return index;
}

void broadcast(comm::Communicator& world, Index& index) {
  if (world.size() == 1) return;
  Tables tables = world.rank() == 0 ? tables_of(index) : Tables{};
  Metadata& metadata = index.metadata;
  for (std::string* text :
       {&metadata.deck, &metadata.tokenizer_kind, &metadata.tokenizer_model, &metadata.build, &metadata.isa,
        &metadata.precision, &metadata.grid, &index.save_id, &tables.tensors, &tables.pieces, &tables.shards}) {
    world.broadcast_text(*text, 0);
  }
  broadcast_numbers(world, index);
  if (world.rank() != 0) parse_tables(tables, index);
}

}  // namespace trireme::checkpoint
