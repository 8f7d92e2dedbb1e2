#include "hdf5/opened_file.hpp"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "trireme/base/text.hpp"
#include "trireme/io/file.hpp"

#include "hdf5/attribute.hpp"
#include "hdf5/datatype.hpp"
#include "hdf5/driver.hpp"

namespace trireme::hdf5 {
namespace {

constexpr int most_depth = 32;  ///< a group may hold itself
constexpr std::size_t most_objects = 4'000'000;

hid_t checked(hid_t id, const std::string& what) {
  return check_id<InputError>(id, what);
}

/// Called by the library for each link of a group; out of memory, it stops.
herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* names) noexcept {
  try {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

/// The names between the slashes.
std::vector<std::string> path_parts(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; (begin = path.find_first_not_of('/', begin)) != std::string::npos;) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end;
  }
  return parts;
}

}  // namespace

std::string shape_text(const Extents& extents) {
  std::vector<std::string> parts;
  for (const std::uint64_t extent : extents) {
    parts.push_back(std::to_string(extent));
  }
  return fmt::format("[{}]", join(parts));
}

std::optional<std::uint64_t> product(const Extents& extents, std::uint64_t start) {
  std::uint64_t result = start;
  for (const std::uint64_t extent : extents) {
    if (__builtin_mul_overflow(result, extent, &result)) {
      return std::nullopt;
    }
  }
  return result;
}

OpenedFile::OpenedFile(const std::string& path) : path_(path), bytes_(io::File(path, io::File::Mode::read).size()) {
  const Handle access = property_list(H5P_FILE_ACCESS);
  use_for_reading(access.get());
  check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), "choose strong closing");
  file_ =
      Handle(checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), fmt::format("open `{}`", path)), H5Fclose);
}

std::string OpenedFile::called(const std::string& object) const {
  return fmt::format("`{}` in `{}`", object, path_);
}

bool OpenedFile::has(const std::string& object) const {
  const std::string what = "look for " + called(object);
  Handle place(checked(H5Oopen(file_.get(), "/", H5P_DEFAULT), what), H5Oclose);
  for (const std::string& name : path_parts(object)) {
    if (H5Iget_type(place.get()) != H5I_GROUP) {
      return false;
    }
    const htri_t found = H5Lexists(place.get(), name.c_str(), H5P_DEFAULT);
    check<InputError>(found, what);  // a place that cannot be read is not an absent one
    if (found == 0) {
      return false;
    }
    H5L_info_t link;
    check<InputError>(H5Lget_info(place.get(), name.c_str(), &link, H5P_DEFAULT), what);
    if (link.type != H5L_TYPE_HARD) {
      return false;
    }
    place = Handle(checked(H5Oopen(place.get(), name.c_str(), H5P_DEFAULT), what), H5Oclose);
  }
  return true;
}

Handle OpenedFile::open_object(const std::string& object) const {
  if (!has(object)) {
    throw InputError(fmt::format("`{}` has no `{}`", path_, object));
  }
  return {checked(H5Oopen(file_.get(), object.c_str(), H5P_DEFAULT), "open " + called(object)), H5Oclose};
}

Handle OpenedFile::open_kind(const std::string& object, H5I_type_t kind, const char* kind_name) const {
  Handle handle = open_object(object);
  if (H5Iget_type(handle.get()) != kind) {
    throw InputError(fmt::format("{} is not a {}", called(object), kind_name));
  }
  return handle;
}

Handle OpenedFile::open_dataset(const std::string& object) const {
  return open_kind(object, H5I_DATASET, "dataset");
}

std::vector<std::string> OpenedFile::list(const std::string& object) const {
  const Handle group = open_kind(object, H5I_GROUP, "group");
  std::vector<std::string> names;
  // Asking for one name after the other would sort all of them each time.
  check<InputError>(H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &names),
                    "list " + called(object));
  return names;
}

std::vector<std::string> OpenedFile::datasets(const std::string& group) const {
  std::vector<std::string> found;
  std::size_t seen = 0;
  collect_datasets(group, 0, seen, found);
  return found;
}

void OpenedFile::collect_datasets(const std::string& group, int depth, std::size_t& seen,
                                  std::vector<std::string>& found) const {
  for (const std::string& name : list(group)) {
    if (++seen > most_objects || depth > most_depth) {
      throw InputError(fmt::format("{} has groups without end", called(group)));
    }
    const std::string object = group == "/" ? "/" + name : group + "/" + name;
    if (!has(object)) {
      continue;  // a link to elsewhere
    }
    const H5I_type_t kind = H5Iget_type(open_object(object).get());
    if (kind == H5I_DATASET) {
      found.push_back(object);
    } else if (kind == H5I_GROUP) {
      collect_datasets(object, depth + 1, seen, found);
    }
  }
}

Extents OpenedFile::extents_of(hid_t dataset, const std::string& object) const {
  const Handle space(checked(H5Dget_space(dataset), "read the shape of " + called(object)), H5Sclose);
  const H5S_class_t kind = H5Sget_simple_extent_type(space.get());
  if (kind != H5S_SIMPLE && kind != H5S_SCALAR) {
    throw InputError(fmt::format("{} has no shape", called(object)));
  }
  std::vector<hsize_t> dims(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space.get())));
  H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  return {dims.begin(), dims.end()};
}

Dtype OpenedFile::dtype_of(hid_t dataset, const std::string& object) const {
  const Handle type(checked(H5Dget_type(dataset), "read the type of " + called(object)), H5Tclose);
  const auto dtype = dtype_stored_as(type.get());
  if (!dtype) {
    throw InputError(fmt::format(
        "{} has the type {} (wanted fp32, fp64, bf16, fp16, int32, int64, uint8, uint16 or uint64, little-endian)",
        called(object), describe_type(type.get())));
  }
  const bool is_bf16 = *dtype == Dtype::u16 && H5Aexists(dataset, dtype_attribute) > 0 &&
                       read_text({dataset, called(object), dtype_attribute}) == name_of(Dtype::bf16);
  return is_bf16 ? Dtype::bf16 : *dtype;
}

DatasetInfo OpenedFile::info(hid_t dataset, const std::string& object) const {
  DatasetInfo info;
  info.extents = extents_of(dataset, object);
  info.dtype = dtype_of(dataset, object);
  const auto bytes = product(info.extents, size_of(info.dtype));
  if (!bytes) {
    throw InputError(fmt::format("{} has the impossible shape {}", called(object), shape_text(info.extents)));
  }
  const Handle list(checked(H5Dget_create_plist(dataset), "read the layout of " + called(object)), H5Pclose);
  const H5D_layout_t layout = H5Pget_layout(list.get());
  if (layout == H5D_CHUNKED) {
    info.chunk = chunk_of(list.get(), info.extents.size(), object);
  } else if (layout == H5D_CONTIGUOUS) {
    info.offset = offset_of(dataset, list.get(), *bytes, object);
  }
  return info;
}

Extents OpenedFile::chunk_of(hid_t list, std::size_t rank, const std::string& object) const {
  std::vector<hsize_t> dims(rank);
  if (H5Pget_chunk(list, static_cast<int>(rank), dims.data()) != static_cast<int>(rank)) {
    throw InputError(fmt::format("{} has chunks of another rank than its own", called(object)));
  }
  return {dims.begin(), dims.end()};
}

std::uint64_t OpenedFile::offset_of(hid_t dataset, hid_t list, std::uint64_t bytes, const std::string& object) const {
  if (H5Pget_external_count(list) > 0) {
    throw InputError(fmt::format("{} has its data outside the file", called(object)));
  }
  const haddr_t offset = bytes > 0 ? H5Dget_offset(dataset) : HADDR_UNDEF;
  if (offset == HADDR_UNDEF) {  // no space was ever given to it
    return 0;
  }
  if (offset > bytes_ || bytes > bytes_ - offset) {
    throw InputError(fmt::format("{} reaches beyond the end of the file ({} bytes at byte {} of {})", called(object),
                                 bytes, offset, bytes_));
  }
  return offset;
}

}  // namespace trireme::hdf5
