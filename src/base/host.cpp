#include "trireme/base/host.hpp"

#include <array>
#include <climits>

#include <unistd.h>

namespace trireme {

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace trireme
