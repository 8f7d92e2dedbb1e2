// What takes too long for every day; run by full_matrix.sh. A file holds what was
// found, a line a case, so that a run that was ended goes on where it was.
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

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

/// Cases of a set by its name: `product` (grids, schedules, ZeRO stages, recompute modes of tiny), `odd`, `llama`
/// (every pair of choices), in one precision.
std::vector<Case> cases_of(const std::string& set, const std::string& precision) {
  constexpr std::size_t sample_size = 60;
  if (set == "product") return tiny_product(world().size(), {precision});
  if (set == "odd") return odd_sample(world().size(), sample_size, {precision});
  return llama_sample(world().size(), sample_size, {precision});
}

class FullMatrix : public TrainTest {};

/// TRIREME_TEST_SETS: `product:bf16 odd:fp32 ...`
TEST_F(FullMatrix, DISABLED_TrainsAsOneRank) {
  const char* const path = std::getenv("TRIREME_TEST_RESULTS");
  const char* const sets = std::getenv("TRIREME_TEST_SETS");
  ASSERT_NE(path, nullptr);
  ASSERT_NE(sets, nullptr);
  std::unique_ptr<Results> results;
  if (world().rank() == 0) results = std::make_unique<Results>(path);
  std::istringstream words(sets);
  for (std::string word; words >> word;) {
    const std::size_t colon = word.find(':');
    for (const Case& what : cases_of(word.substr(0, colon), word.substr(colon + 1))) {
      if (world().any(results && results->has(what))) continue;
      if (results) results->begin(what);
      const std::string problem = check(what);
      if (results) results->end(what, problem);
      EXPECT_EQ(problem, "") << what.text();
    }
  }
  if (results) results->complete();
}

}  // namespace
}  // namespace trireme::testing
