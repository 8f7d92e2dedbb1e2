// The whole product of grids, schedules, ZeRO stages and recompute modes; run by full_matrix.sh. A file holds what was
// found, a line a case, so that a run that was ended goes on where it was.
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "parallel/parallel.hpp"
#include "parallel/train/train_test.hpp"

namespace trireme::testing {
namespace {

/// Lines `begun CASE`, `passed CASE`, `failed CASE: PROBLEM`, at last `complete`. A case that was begun twice and has
/// no result has ended the process each time: it is not tried again.
class Results {
 public:
  explicit Results(const std::string& path) : path_(path) {
    std::ifstream file(path);
    std::map<std::string, int> begun;
    for (std::string line; std::getline(file, line);) {
      const std::size_t blank = line.find(' ');
      const std::string what = line.substr(blank + 1, line.find(": ") - blank - 1);
      if (line.starts_with("begun")) ++begun[what];
      if (line.starts_with("passed") || line.starts_with("failed")) finished_.insert(what);
    }
    for (const auto& [what, times] : begun) {
      if (times > 1 && finished_.insert(what).second) add("failed " + what + ": ended the process");
    }
  }

  [[nodiscard]] bool has(const Case& what) const { return finished_.contains(what.text()); }
  void begin(const Case& what) const { add("begun " + what.text()); }
  void end(const Case& what, const std::string& problem) const {
    add(problem.empty() ? "passed " + what.text() : "failed " + what.text() + ": " + problem);
  }
  void complete() const { add("complete"); }

 private:
  void add(const std::string& line) const { std::ofstream(path_, std::ios::app) << line << std::endl; }
  std::string path_;
  std::set<std::string> finished_;
};

class FullMatrix : public TrainTest {};

TEST_F(FullMatrix, DISABLED_TrainsAsOneRank) {
  const char* const path = std::getenv("TRIREME_TEST_RESULTS");
  ASSERT_NE(path, nullptr);
  std::unique_ptr<Results> results;
  if (world().rank() == 0) results = std::make_unique<Results>(path);
  for (const Case& what : tiny_product(world().size())) {
    if (world().any(results && results->has(what))) continue;
    if (results) results->begin(what);
    const std::string problem = check(what);
    if (results) results->end(what, problem);
    EXPECT_EQ(problem, "") << what.text();
  }
  if (results) results->complete();
}

}  // namespace
}  // namespace trireme::testing
