#include "hdf5/library.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "trireme/hdf5/file.hpp"

namespace trireme::hdf5 {
namespace {

std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

herr_t collect_words(unsigned, const H5E_error2_t* error, void* words) {
  static_cast<std::vector<std::string>*>(words)->push_back(
      fmt::format("{}: {}", error->func_name != nullptr ? error->func_name : "?",
                  error->desc != nullptr ? error->desc : "no description"));
  return 0;
}

}  // namespace

LibraryLock::LibraryLock() : guard_(library_mutex()) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

std::string library_words() {
  std::vector<std::string> words;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect_words, &words);
  H5Eclear2(H5E_DEFAULT);
  if (words.empty()) {
    return "no reason given";
  }
  return words.size() == 1 ? words[0] : words.back() + "; cause: " + words.front();
}

Handle property_list(hid_t list_class) {
  return {check_id(H5Pcreate(list_class), "make a property list"), H5Pclose};
}

Handle dataspace(const std::vector<std::uint64_t>& extents) {
  if (extents.empty()) {
    return {check_id(H5Screate(H5S_SCALAR), "make a scalar dataspace"), H5Sclose};
  }
  const std::vector<hsize_t> dims(extents.begin(), extents.end());
  const int rank = static_cast<int>(dims.size());
  return {check_id(H5Screate_simple(rank, dims.data(), nullptr), "make a dataspace"), H5Sclose};
}

std::int64_t open_objects() {
  const LibraryLock lock;
  return H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL);
}

std::string library_version() {
  const LibraryLock lock;
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  check(H5get_libversion(&major, &minor, &release), "ask for the version of HDF5");
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace trireme::hdf5
