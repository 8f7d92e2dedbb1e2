#include "config/problems.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/text.hpp"

namespace trireme::config {

void Problems::add(Problem problem) {
  problems_.push_back(std::move(problem));
}

void Problems::throw_if_any() const {
  if (problems_.empty()) return;
  std::vector<Problem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) { return a.line < b.line; });
  std::vector<std::string> lines;
  for (const Problem& problem : sorted) {
    lines.push_back(problem.where + ": " + (problem.subject.empty() ? "" : problem.subject + ": ") + problem.what);
  }
  throw InputError(join(lines, "\n"));
}

}  // namespace trireme::config
