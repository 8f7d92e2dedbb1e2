// The fingerprints of a traced run are those of one rank on every grid, and one changed bit shows first where it is.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parallel/parallel.hpp"
#include "parallel/train/train_test.hpp"

namespace trireme::testing {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::Not;

const Case traced{Base::tiny, {"numerics.trace=true", "numerics.grid_invariant=true", "batch.global=8"}};

class TracedRuns : public TrainTest {
 protected:
  /// `phase name value` of every line of each of `steps` steps. On the first rank; empty on others.
  std::vector<std::string> lines_of(const Case& what, int steps, const std::string& flipped = {},
                                    int flip_before = -1) {
    std::vector<std::string> lines;
    on_first_ranks(what, [&](comm::Communicator& group) {
      Training training(group, what, folder());
      for (int step = 0; step < steps; ++step) {
        if (step == flip_before) flip(training, flipped);
        const train::StepResult result = training.step_on();
        for (const train::Fingerprint& line : training.trainer().fingerprints(result)) {
          if (group.rank() == 0) {
            lines.push_back(fmt::format("{} {} {} {:016x}", step + 1, line.phase, line.name, line.value));
          }
        }
      }
    });
    return lines;
  }

  /// The first line that differs without its value; empty when none does.
  static std::string first_difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    EXPECT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (a[i] != b[i]) return a[i].substr(0, a[i].rfind(' '));
    }
    return {};
  }

 private:
  static void flip(Training& training, const std::string& name) {
    for (const optim::HeldArray& array : training.trainer().held_state()) {
      if (array.parameter->name != name || array.part != optim::StatePart::weights) continue;
      static_cast<float*>(array.values.data)[0] *= 1.5F;
    }
  }
};

TEST_F(TracedRuns, HaveTheFingerprintsOfOneRankOnEveryGrid) {
  for (const char* const base : {"precision.compute=fp32", "precision.compute=bf16", "model.tied_embeddings=false"}) {
    const Case one = traced.with({base, "model.dropout=0.1"});
    const std::vector<std::string> expected = lines_of(one, 3);
    const std::vector<std::vector<std::string>> grids = {
        {"grid.data=2"},
        {"grid.data=2", "sharding.zero_stage=3", "recompute.mode=full"},
        {"grid.tensor=2", "recompute.mode=selective"},
        {"grid.pipeline=2", "pipeline.schedule=zero_bubble"},
        {"grid.data=2", "grid.tensor=2", "grid.pipeline=2", "sharding.zero_stage=2"},
        {"grid.data=4", "sharding.group=2"},
        {"grid.data=2", "grid.pipeline=4", "pipeline.schedule=gpipe"},
    };
    for (const auto& grid : grids) {
      const Case many = one.with(grid);
      if (lay(many, folder()).grid.size() > world().size()) continue;
      SCOPED_TRACE(many.text());
      const std::vector<std::string> found = lines_of(many, 3);
      if (world().rank() == 0) {
        EXPECT_EQ(first_difference(expected, found), "");
      }
    }
  }
}

TEST_F(TracedRuns, PartWhereAWeightWasChanged) {
  const std::vector<std::string> straight = lines_of(traced, 4);
  const auto first = [&](const std::string& name) { return first_difference(straight, lines_of(traced, 4, name, 2)); };
  const bool sees = world().rank() == 0;
  EXPECT_EQ(first("blocks.2.mlp.up.weight"), sees ? "3 forward block 2" : "");
  EXPECT_EQ(first("embedding.token.weight"), sees ? "3 forward embedding" : "");
  EXPECT_EQ(first("final_norm.gain"), sees ? "3 loss loss" : "");
  if (sees) {
    EXPECT_THAT(straight, Not(Contains(EndsWith(" 0000000000000000"))));
  }
}

}  // namespace
}  // namespace trireme::testing
