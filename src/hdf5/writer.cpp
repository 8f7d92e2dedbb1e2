#include <algorithm>
#include <bit>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "trireme/hdf5/file.hpp"

#include "hdf5/datatype.hpp"
#include "hdf5/driver.hpp"
#include "hdf5/library.hpp"
#include "hdf5/sink.hpp"
#include "hdf5/user_block.hpp"

namespace trireme::hdf5 {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold the bytes of memory, which are little-endian");

constexpr hsize_t metadata_block_bytes = 64 * 1024;
constexpr hsize_t alignment_bytes = 64;

/// Time stamps would make equal contents differ.
Handle creation_list(hid_t list_class) {
  Handle list = property_list(list_class);
  check(H5Pset_obj_track_times(list.get(), false), "leave out time stamps");
  return list;
}

Handle file_creation_list() {
  Handle list = creation_list(H5P_FILE_CREATE);
  check(H5Pset_userblock(list.get(), user_block_bytes), "reserve the user block");
  return list;
}

Handle file_access_list(const std::shared_ptr<Sink>& sink) {
  Handle list = property_list(H5P_FILE_ACCESS);
  use_for_writing(list.get(), sink);
  check(H5Pset_libver_bounds(list.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "choose the file format of HDF5 1.10");
  check(H5Pset_fclose_degree(list.get(), H5F_CLOSE_STRONG), "choose strong closing");
  check(H5Pset_meta_block_size(list.get(), metadata_block_bytes), "choose the size of metadata blocks");
  check(H5Pset_alignment(list.get(), alignment_bytes, alignment_bytes), "align the data");
  return list;
}

/// Contiguous space is given at once, so that its place is known; nothing is filled in before the data.
Handle dataset_creation_list(const Extents& extents, const Extents& chunk) {
  Handle list = creation_list(H5P_DATASET_CREATE);
  check(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER), "leave out fill values");
  const bool is_empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
  if (chunk.empty() || is_empty) {
    check(H5Pset_layout(list.get(), H5D_CONTIGUOUS), "choose the contiguous layout");
    check(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY), "choose early allocation");
  } else {
    const std::vector<hsize_t> dims(chunk.begin(), chunk.end());
    check(H5Pset_chunk(list.get(), static_cast<int>(dims.size()), dims.data()), "choose the chunks");
  }
  return list;
}

/// What virtual datasets show where a source is missing.
void set_nan_fill(hid_t list, Dtype dtype) {
  const Handle type = file_type(dtype);
  const float f32 = std::numeric_limits<float>::quiet_NaN();
  const double f64 = std::numeric_limits<double>::quiet_NaN();
  const std::uint16_t bf16 = 0x7fc0;
  const std::uint16_t f16 = 0x7e00;
  const std::uint64_t zero = 0;
  const void* value = dtype == Dtype::f32    ? static_cast<const void*>(&f32)
                      : dtype == Dtype::f64  ? static_cast<const void*>(&f64)
                      : dtype == Dtype::bf16 ? static_cast<const void*>(&bf16)
                      : dtype == Dtype::f16  ? static_cast<const void*>(&f16)
                                             : static_cast<const void*>(&zero);
  check(H5Pset_fill_value(list, type.get(), value), "choose the fill value");
}

void add_source(hid_t list, const Extents& extents, const VirtualSource& source) {
  TRIREME_EXPECT(source.offset.size() == extents.size() && source.extent.size() == extents.size());
  if (std::find(source.extent.begin(), source.extent.end(), 0) != source.extent.end()) {
    return;
  }
  const Handle whole = dataspace(extents);
  const Handle part = dataspace(source.extent);
  const std::vector<hsize_t> start(source.offset.begin(), source.offset.end());
  const std::vector<hsize_t> count(source.extent.begin(), source.extent.end());
  check(H5Sselect_hyperslab(whole.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
        "place a source of a virtual dataset");
  check(H5Pset_virtual(list, whole.get(), source.file.c_str(), source.dataset.c_str(), part.get()),
        fmt::format("add the source `{}` in `{}` of a virtual dataset", source.dataset, source.file));
}

}  // namespace

struct Writer::State {
  std::string path;
  std::shared_ptr<Sink> sink;
  Handle file;

  [[nodiscard]] std::string called(const std::string& object) const {
    return fmt::format("`{}` in `{}`", object, path);
  }

  [[nodiscard]] bool exists(const std::string& object) const {
    return H5Lexists(file.get(), object.c_str(), H5P_DEFAULT) > 0;
  }

  void make_group(const std::string& object) {
    for (std::size_t end = 1; end != std::string::npos && end < object.size();) {
      end = object.find('/', end + 1);
      const std::string group = object.substr(0, end);
      if (!exists(group)) {
        const Handle list = creation_list(H5P_GROUP_CREATE);
        const hid_t id = H5Gcreate2(file.get(), group.c_str(), H5P_DEFAULT, list.get(), H5P_DEFAULT);
        Handle(check_id(id, "create the group " + called(group)), H5Gclose);
      }
    }
  }

  void make_parents(const std::string& object) {
    const std::size_t slash = object.find_last_of('/');
    if (slash != std::string::npos && slash > 0) {
      make_group(object.substr(0, slash));
    }
  }

  void create(const std::string& object, const Extents& extents, Dtype dtype, hid_t list) {
    make_parents(object);
    const Handle type = file_type(dtype);
    const Handle space = dataspace(extents);
    const Handle dataset(
        check_id(H5Dcreate2(file.get(), object.c_str(), type.get(), space.get(), H5P_DEFAULT, list, H5P_DEFAULT),
                 "create the dataset " + called(object)),
        H5Dclose);
    if (dtype == Dtype::bf16) {
      text_attribute(dataset.get(), object, dtype_attribute, std::string(name_of(dtype)));
    }
  }

  [[nodiscard]] Handle open(const std::string& object) const {
    return {check_id(H5Dopen2(file.get(), object.c_str(), H5P_DEFAULT), "open the dataset " + called(object)),
            H5Dclose};
  }

  /// The object, made as a group when it is not there yet.
  [[nodiscard]] Handle open_object(const std::string& object) {
    if (object != "/" && !exists(object)) {
      make_group(object);
    }
    return {check_id(H5Oopen(file.get(), object.c_str(), H5P_DEFAULT), "open " + called(object)), H5Oclose};
  }

  void write_attribute(hid_t object, const std::string& object_name, const std::string& name, hid_t type,
                       const void* value) {
    const std::string what = fmt::format("write the attribute `{}` of {}", name, called(object_name));
    const Handle space = dataspace({});
    const Handle attribute(
        check_id(H5Acreate2(object, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT), what), H5Aclose);
    check(H5Awrite(attribute.get(), type, value), what);
  }

  void text_attribute(hid_t object, const std::string& object_name, const std::string& name, const std::string& value) {
    TRIREME_EXPECT(value.size() <= 32 * 1024);
    const Handle type(check_id(H5Tcopy(H5T_C_S1), "copy the string type"), H5Tclose);
    check(H5Tset_size(type.get(), std::max<std::size_t>(value.size(), 1)), "size the string type");
    check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "pad the string type");
    check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "mark the string type as UTF-8");
    write_attribute(object, object_name, name, type.get(), value.c_str());
  }
};

Writer::Writer(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  state_->sink = std::make_shared<Sink>(path);
  const LibraryLock lock;
  const Handle creation = file_creation_list();
  const Handle access = file_access_list(state_->sink);
  state_->file = Handle(
      check_id(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), fmt::format("create `{}`", path)),
      H5Fclose);
}

Writer::~Writer() {
  const LibraryLock lock;
  state_.reset();
}

void Writer::make_group(const std::string& path) {
  const LibraryLock lock;
  state_->make_group(path);
}

void Writer::attribute(const std::string& path, const std::string& name, const std::string& value) {
  const LibraryLock lock;
  const Handle object = state_->open_object(path);
  state_->text_attribute(object.get(), path, name, value);
}

void Writer::attribute(const std::string& path, const std::string& name, std::int64_t value) {
  const LibraryLock lock;
  const Handle object = state_->open_object(path);
  state_->write_attribute(object.get(), path, name, H5T_STD_I64LE, &value);
}

void Writer::attribute(const std::string& path, const std::string& name, double value) {
  const LibraryLock lock;
  const Handle object = state_->open_object(path);
  state_->write_attribute(object.get(), path, name, H5T_IEEE_F64LE, &value);
}

void Writer::create(const std::string& path, const Extents& extents, Dtype dtype, const Extents& chunk) {
  const LibraryLock lock;
  const Handle list = dataset_creation_list(extents, chunk);
  state_->create(path, extents, dtype, list.get());
}

void Writer::write(const std::string& path, const void* data) {
  const LibraryLock lock;
  const Handle dataset = state_->open(path);
  const Handle type(check_id(H5Dget_type(dataset.get()), "ask for a type"), H5Tclose);
  const Handle space(check_id(H5Dget_space(dataset.get()), "ask for a dataspace"), H5Sclose);
  if (H5Sget_simple_extent_npoints(space.get()) > 0) {
    check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data),
          "write the dataset " + state_->called(path));
  }
}

void Writer::write_range(const std::string& path, std::uint64_t begin, std::uint64_t count, const void* data) {
  if (count == 0) {
    return;
  }
  const LibraryLock lock;
  const Handle dataset = state_->open(path);
  const Handle type(check_id(H5Dget_type(dataset.get()), "ask for a type"), H5Tclose);
  const Handle space(check_id(H5Dget_space(dataset.get()), "ask for a dataspace"), H5Sclose);
  const Handle part = dataspace({count});
  const hsize_t start = begin;
  const hsize_t length = count;
  const std::string what =
      fmt::format("write elements {} to {} of the dataset {}", begin, begin + count - 1, state_->called(path));
  TRIREME_EXPECT(H5Sget_simple_extent_ndims(space.get()) == 1);
  check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &length, nullptr), what);
  check(H5Dwrite(dataset.get(), type.get(), part.get(), space.get(), H5P_DEFAULT, data), what);
}

void Writer::write_chunk(const std::string& path, const Extents& offset, const void* data, std::size_t bytes) {
  const LibraryLock lock;
  const Handle dataset = state_->open(path);
  const std::vector<hsize_t> start(offset.begin(), offset.end());
  check(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, start.data(), bytes, data),
        "write a chunk of the dataset " + state_->called(path));
}

void Writer::write_bytes(const std::string& path, const std::string& bytes) {
  create(path, {bytes.size()}, Dtype::u8);
  write(path, bytes.data());
}

void Writer::create_virtual(const std::string& path, const Extents& extents, Dtype dtype,
                            const std::vector<VirtualSource>& sources) {
  const bool is_empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
  if (is_empty || extents.empty()) {
    TRIREME_EXPECT(!extents.empty());
    create(path, extents, dtype);
    return;
  }
  const LibraryLock lock;
  const Handle list = creation_list(H5P_DATASET_CREATE);
  set_nan_fill(list.get(), dtype);
  for (const VirtualSource& source : sources) {
    add_source(list.get(), extents, source);
  }
  state_->create(path, extents, dtype, list.get());
}

void Writer::link(const std::string& target, const std::string& path) {
  const LibraryLock lock;
  check(H5Lcreate_soft(target.c_str(), state_->file.get(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT),
        "link " + state_->called(path));
}

Finished Writer::finish() {
  {
    const LibraryLock lock;
    check(state_->file.reset(), fmt::format("close `{}`", state_->path));
  }
  return state_->sink->finish();
}

}  // namespace trireme::hdf5
