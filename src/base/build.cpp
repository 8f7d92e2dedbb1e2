#include "trireme/base/build.hpp"

#include <trireme_commit.hpp>

namespace trireme {

std::string version() {
  return TRIREME_VERSION;
}

std::string build_description() {
  return std::string(TRIREME_VERSION) + " (" + TRIREME_COMMIT + ")";
}

}  // namespace trireme
