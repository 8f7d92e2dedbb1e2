#include "parallel/parallel.hpp"

namespace trireme::testing {
namespace {
comm::Communicator* the_world = nullptr;
}

comm::Communicator& world() {
  return *the_world;
}

void set_world(comm::Communicator& world) {
  the_world = &world;
}

}  // namespace trireme::testing
