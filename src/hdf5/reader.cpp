#include <memory>

#include <fmt/format.h>

#include "trireme/hdf5/file.hpp"

#include "hdf5/attribute.hpp"
#include "hdf5/datatype.hpp"
#include "hdf5/library.hpp"
#include "hdf5/opened_file.hpp"

namespace trireme::hdf5 {
namespace {

/// Selects the rectangle in the whole dataset's space.
void select(hid_t space, const Extents& offset, const Extents& extent, const std::string& what) {
  if (extent.empty()) {
    return;  // a scalar
  }
  const std::vector<hsize_t> start(offset.begin(), offset.end());
  const std::vector<hsize_t> count(extent.begin(), extent.end());
  check<InputError>(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), what);
}

bool lies_within(const Extents& offset, const Extents& extent, const Extents& whole) {
  if (offset.size() != whole.size() || extent.size() != whole.size()) {
    return false;
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (offset[i] > whole[i] || extent[i] > whole[i] - offset[i]) {
      return false;
    }
  }
  return true;
}

bool begins_a_chunk(const Extents& offset, const DatasetInfo& info) {
  if (info.chunk.empty() || offset.size() != info.chunk.size()) {
    return false;
  }
  for (std::size_t i = 0; i < offset.size(); ++i) {
    if (offset[i] >= info.extents[i] || offset[i] % info.chunk[i] != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

struct Reader::State {
  OpenedFile file;
  io::Hash128 metadata_hash;

  /// What the dataset is; refuses it when it is not of the wanted type.
  [[nodiscard]] DatasetInfo info(const Handle& dataset, const std::string& object, Dtype wanted) const {
    DatasetInfo found = file.info(dataset.get(), object);
    if (found.dtype != wanted) {
      throw InputError(
          fmt::format("{} has the type {} (wanted {})", file.called(object), name_of(found.dtype), name_of(wanted)));
    }
    return found;
  }
};

Reader::Reader(const std::string& path, Verify verify) {
  const io::Hash128 metadata_hash = verify == Verify::user_block ? verify_user_block(path) : io::Hash128{};
  const LibraryLock lock;
  state_ = std::make_unique<State>(State{OpenedFile(path), metadata_hash});
}

Reader::~Reader() {
  const LibraryLock lock;
  state_.reset();
}

const std::string& Reader::path() const noexcept {
  return state_->file.path();
}

io::Hash128 Reader::metadata_hash() const noexcept {
  return state_->metadata_hash;
}

bool Reader::has(const std::string& path) const {
  const LibraryLock lock;
  return state_->file.has(path);
}

std::vector<std::string> Reader::list(const std::string& group) const {
  const LibraryLock lock;
  return state_->file.list(group);
}

std::vector<std::string> Reader::datasets(const std::string& group) const {
  const LibraryLock lock;
  return state_->file.datasets(group);
}

bool Reader::has_attribute(const std::string& path, const std::string& name) const {
  const LibraryLock lock;
  return H5Aexists(state_->file.open_object(path).get(), name.c_str()) > 0;
}

std::string Reader::text_attribute(const std::string& path, const std::string& name) const {
  const LibraryLock lock;
  const Handle object = state_->file.open_object(path);
  return read_text({object.get(), state_->file.called(path), name});
}

std::int64_t Reader::integer_attribute(const std::string& path, const std::string& name) const {
  const LibraryLock lock;
  const Handle object = state_->file.open_object(path);
  return read_integer({object.get(), state_->file.called(path), name});
}

double Reader::real_attribute(const std::string& path, const std::string& name) const {
  const LibraryLock lock;
  const Handle object = state_->file.open_object(path);
  return read_real({object.get(), state_->file.called(path), name});
}

DatasetInfo Reader::info(const std::string& path) const {
  const LibraryLock lock;
  const Handle dataset = state_->file.open_dataset(path);
  return state_->file.info(dataset.get(), path);
}

void Reader::read(const std::string& path, Dtype dtype, void* data) const {
  const LibraryLock lock;
  const Handle dataset = state_->file.open_dataset(path);
  const DatasetInfo found = state_->info(dataset, path, dtype);
  if (product(found.extents) == 0U) {
    return;
  }
  const Handle type = file_type(dtype);
  check<InputError>(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data),
                    "read the dataset " + state_->file.called(path));
}

void Reader::read_rectangle(const std::string& path, Dtype dtype, const Extents& offset, const Extents& extent,
                            void* data) const {
  const LibraryLock lock;
  const Handle dataset = state_->file.open_dataset(path);
  const DatasetInfo found = state_->info(dataset, path, dtype);
  if (!lies_within(offset, extent, found.extents)) {
    throw InputError(fmt::format("{} has the shape {} (wanted {} elements from {} on)", state_->file.called(path),
                                 shape_text(found.extents), shape_text(extent), shape_text(offset)));
  }
  if (product(extent) == 0U) {
    return;
  }
  const std::string what = "read a part of the dataset " + state_->file.called(path);
  const Handle type = file_type(dtype);
  const Handle whole(check_id<InputError>(H5Dget_space(dataset.get()), what), H5Sclose);
  const Handle part = dataspace(extent);
  select(whole.get(), offset, extent, what);
  check<InputError>(H5Dread(dataset.get(), type.get(), part.get(), whole.get(), H5P_DEFAULT, data), what);
}

void Reader::read_chunk(const std::string& path, const Extents& offset, void* data, std::size_t bytes) const {
  const LibraryLock lock;
  const Handle dataset = state_->file.open_dataset(path);
  const DatasetInfo found = state_->file.info(dataset.get(), path);
  const std::string what = fmt::format("read the chunk at {} of {}", shape_text(offset), state_->file.called(path));
  if (!begins_a_chunk(offset, found) || product(found.chunk, size_of(found.dtype)) != bytes) {
    throw InputError(fmt::format("cannot {} (wanted {} bytes; its shape is {}, its chunks are {} of {})", what, bytes,
                                 shape_text(found.extents), shape_text(found.chunk), name_of(found.dtype)));
  }
  const Handle list(check_id<InputError>(H5Dget_create_plist(dataset.get()), what), H5Pclose);
  if (H5Pget_nfilters(list.get()) != 0) {
    throw InputError(fmt::format("cannot {} (it is compressed) write it again without filters", what));
  }
  // A missing or cut chunk would be an error deep inside the library, or leave `data` as it was.
  const std::vector<hsize_t> start(offset.begin(), offset.end());
  hsize_t stored = 0;
  check<InputError>(H5Dget_chunk_storage_size(dataset.get(), start.data(), &stored), what);
  if (stored != bytes) {
    throw InputError(fmt::format("cannot {} ({} bytes are stored, wanted {})", what, stored, bytes));
  }
  std::uint32_t skipped_filters = 0;
  check<InputError>(H5Dread_chunk(dataset.get(), H5P_DEFAULT, start.data(), &skipped_filters, data), what);
}

std::string Reader::read_bytes(const std::string& path) const {
  const DatasetInfo found = info(path);
  if (found.extents.size() != 1 || found.dtype != Dtype::u8 || found.extents[0] > state_->file.bytes()) {
    throw InputError(fmt::format("{} is {} of {} (wanted bytes in one dimension that fit into the file)",
                                 state_->file.called(path), shape_text(found.extents), name_of(found.dtype)));
  }
  std::string bytes(found.extents[0], '\0');
  read(path, Dtype::u8, bytes.data());
  return bytes;
}

}  // namespace trireme::hdf5
