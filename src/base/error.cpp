#include "trireme/base/error.hpp"

#include <cstdio>
#include <cstdlib>

namespace trireme {

void contract_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "error: broken contract `%s` at %s:%d (a mistake of the program, not of its input)\n", condition,
               file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace trireme
