#include "hdf5/driver.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include "hdf5/library.hpp"

namespace trireme::hdf5 {
namespace {

constexpr haddr_t greatest_address = static_cast<haddr_t>(std::numeric_limits<std::int64_t>::max());

/// What the property list carries to open_file(). Plain, since the library copies it byte by byte.
struct Target {
  const std::shared_ptr<Sink>* sink = nullptr;  ///< null: read
};

/// One open file; the library fills the inherited fields. Exactly one of sink and source is there.
struct OpenFile : H5FD_t {
  OpenFile() : H5FD_t{} {}
  std::shared_ptr<Sink> sink;
  std::optional<io::File> source;
  haddr_t source_bytes = 0;
  haddr_t end_of_addresses = 0;
};

/// Puts the words of a failure on the library's own error stack, from where they reach the user.
void push_error(const char* function, const char* words) {
  H5Epush2(H5E_DEFAULT, __FILE__, function, __LINE__, H5E_ERR_CLS, H5E_VFL, H5E_CANTOPENFILE, "%s", words);
}

H5FD_t* open_file(const char* name, unsigned flags, hid_t access, haddr_t) {
  try {
    auto file = std::make_unique<OpenFile>();
    const auto* target = static_cast<const Target*>(H5Pget_driver_info(access));
    if ((flags & H5F_ACC_CREAT) != 0 && target != nullptr && target->sink != nullptr) {
      file->sink = *target->sink;
    } else {
      file->source.emplace(name, io::File::Mode::read);
      file->source_bytes = file->source->size();
    }
    return file.release();
  } catch (const std::exception& error) {
    push_error("open_file", error.what());
    return nullptr;
  }
}

herr_t close_file(H5FD_t* file) {
  delete static_cast<OpenFile*>(file);
  return 0;
}

herr_t query(const H5FD_t* file, unsigned long* flags) {
  // Sieving and accumulating would read back and write again what the sink has; a reader of small rows gains from them.
  const bool reading = file != nullptr && static_cast<const OpenFile*>(file)->source.has_value();
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  if (reading) {
    *flags |= H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_ACCUMULATE_METADATA_READ;
  }
  return 0;
}

haddr_t get_end_of_addresses(const H5FD_t* file, H5FD_mem_t) {
  return static_cast<const OpenFile*>(file)->end_of_addresses;
}

herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  static_cast<OpenFile*>(file)->end_of_addresses = address;
  return 0;
}

haddr_t get_end_of_file(const H5FD_t* file, H5FD_mem_t) {
  const auto* open = static_cast<const OpenFile*>(file);
  return open->sink ? std::max<haddr_t>(open->sink->end(), open->end_of_addresses) : open->source_bytes;
}

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t bytes, void* data) {
  auto* open = static_cast<OpenFile*>(file);
  if (open->sink) {
    open->sink->read(address, data, bytes);
    return 0;
  }
  try {
    // The library may ask for more than there is while it guesses lengths; what is not there reads as zeros.
    const haddr_t there = address < open->source_bytes ? open->source_bytes - address : 0;
    const std::size_t now = std::min<haddr_t>(bytes, there);
    open->source->read_at(address, data, now);
    std::memset(static_cast<char*>(data) + now, 0, bytes - now);
    return 0;
  } catch (const std::exception& error) {
    push_error("read", error.what());
    return -1;
  }
}

/// The library calls a global heap, which holds the sources of virtual datasets, raw data. It is known by its signature
/// and its length, which stand in its first bytes; tensor data that looks the same is merely kept in memory longer.
bool is_global_heap(const void* data, std::size_t bytes) {
  constexpr std::array<char, 5> signature = {'G', 'C', 'O', 'L', 1};
  std::uint64_t length = 0;
  if (bytes < 16 || std::memcmp(data, signature.data(), signature.size()) != 0) {
    return false;
  }
  std::memcpy(&length, static_cast<const char*>(data) + 8, sizeof(length));
  return length == bytes;
}

herr_t write(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, size_t bytes, const void* data) {
  auto* open = static_cast<OpenFile*>(file);
  if (!open->sink) {
    return -1;
  }
  if (type == H5FD_MEM_DRAW && !is_global_heap(data, bytes)) {
    open->sink->write_raw(address, data, bytes);
  } else {
    open->sink->write_metadata(address, data, bytes);
  }
  return 0;
}

/// Called when the library's file is flushed or closed.
herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
  if (const auto* open = static_cast<const OpenFile*>(file); open->sink) {
    open->sink->extend_to(open->end_of_addresses);
  }
  return 0;
}

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(498);  // of the range left to private drivers
#endif
  driver.name = "trireme";
  driver.maxaddr = greatest_address;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(Target);
  driver.open = open_file;
  driver.close = close_file;
  driver.query = query;
  driver.get_eoa = get_end_of_addresses;
  driver.set_eoa = set_end_of_addresses;
  driver.get_eof = get_end_of_file;
  driver.read = read;
  driver.write = write;
  driver.truncate = truncate;
  // No lock callbacks: HDF5's file locking, which many parallel file systems lack, is off.
  constexpr H5FD_mem_t lists[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(lists), std::end(lists), driver.fl_map);
  return driver;
}

/// Registered once and for the life of the process.
hid_t driver_id() {
  static const hid_t id = [] {
    const H5FD_class_t driver = driver_class();
    return check_id(H5FDregister(&driver), "register the file driver");
  }();
  return id;
}

}  // namespace

void use_for_reading(hid_t access) {
  const Target target;
  check(H5Pset_driver(access, driver_id(), &target), "choose the file driver");
}

void use_for_writing(hid_t access, const std::shared_ptr<Sink>& sink) {
  const Target target{&sink};
  check(H5Pset_driver(access, driver_id(), &target), "choose the file driver");
}

}  // namespace trireme::hdf5
