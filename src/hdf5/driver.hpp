// Our virtual file driver: it lets the HDF5 library read through io::File and write into a Sink.
#pragma once

#include <memory>

#include <hdf5.h>

#include "hdf5/sink.hpp"

namespace trireme::hdf5 {

/// Sets up `access` (a file access property list) for reading: each file the library opens with it, sources of virtual
/// datasets included, is an io::File.
void use_for_reading(hid_t access);

/// Sets up `access` for creating one file whose bytes go to `sink`. The list holds a pointer to `sink` only until the
/// file has been created; the library's file then shares it.
void use_for_writing(hid_t access, const std::shared_ptr<Sink>& sink);

}  // namespace trireme::hdf5
