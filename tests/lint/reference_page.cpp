// Prints inputs/REFERENCE.md, or with a path compares: reference_page [FILE]
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "trireme/config/deck.hpp"

int main(int argc, char** argv) {
  const std::string page = trireme::config::reference_page();
  if (argc < 2) {
    std::fputs(page.c_str(), stdout);
    return 0;
  }
  std::ifstream file(argv[1]);
  const std::string stored{std::istreambuf_iterator<char>(file), {}};
  if (stored == page) return 0;
  std::printf("%s is not what the option table says: write it anew with\n  %s > %s\n", argv[1], argv[0], argv[1]);
  return 1;
}
