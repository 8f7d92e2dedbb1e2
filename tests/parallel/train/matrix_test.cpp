// Many grids, each against one rank: the same bits where they are promised, close numbers elsewhere.
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "parallel/parallel.hpp"
#include "parallel/train/train_test.hpp"

namespace trireme::testing {
namespace {

class Matrix : public TrainTest {
 protected:
  void expect_as_on_one_rank(const std::vector<Case>& cases) {
    for (const Case& what : cases) {
      const std::string problem = check(what);
      EXPECT_EQ(problem, "") << what.text();
    }
    if (world().rank() == 0) RecordProperty("cases", static_cast<int>(cases.size()));
  }
};

TEST_F(Matrix, EveryPairOfChoicesOfAnEvenModelTrainsAsOneRank) {
  expect_as_on_one_rank(tiny_sample(world().size(), 60, all_precisions));
}

TEST_F(Matrix, EveryPairOfChoicesOfAnOddModelTrainsAsOneRank) {
  expect_as_on_one_rank(odd_sample(world().size(), 60, all_precisions));
}

/// Narrower than it is; full_matrix.sh has it whole.
TEST_F(Matrix, AFewGridsOfALlamaStyleModelTrainAsOneRank) {
  std::vector<Case> cases = llama_sample(world().size(), 0, all_precisions);
  cases.resize(12);
  for (Case& what : cases) what = what.with({"model.width=64", "model.mlp_width=176"});
  expect_as_on_one_rank(cases);
}

/// The case in TRIREME_TEST_CASE, as a failure named it.
TEST_F(Matrix, DISABLED_OneCaseTrainsAsOneRank) {
  const char* const text = std::getenv("TRIREME_TEST_CASE");
  ASSERT_NE(text, nullptr);
  expect_as_on_one_rank({case_of(text)});
}

TEST_F(Matrix, SeesOneOtherSeed) {
  const Outcome one = train({Base::tiny, {}});
  const Outcome other = train({Base::tiny, {"run.seed=2"}});
  if (world().rank() != 0) return;
  EXPECT_EQ(difference(one, one), "");
  EXPECT_NE(difference(one, other), "");
  EXPECT_NE(distance(one, other, 1e-5), "");
}

TEST_F(Matrix, SeesOneOtherBit) {
  const Outcome one = train({Base::tiny, {}});
  if (world().rank() != 0) return;
  for (const auto& [name, values] : one.state) {
    Outcome other = one;
    float& last = other.state[name].back();
    last = std::nextafter(last, 2.0F);
    EXPECT_NE(difference(one, other), "") << name;
  }
}

TEST_F(Matrix, EvaluationLeavesNoTrace) {
  const Case what{Base::tiny,
                  {"numerics.grid_invariant=true", world().size() < 8 ? "grid.data=1" : "grid.data=2",
                   world().size() < 4 ? "grid.tensor=1" : "grid.tensor=2",
                   world().size() < 2 ? "grid.pipeline=1" : "grid.pipeline=2"}};
  const Outcome& expected = reference(what);
  on_first_ranks(what, [&](comm::Communicator& group) {
    Training training(group, what, folder());
    training.run(3);
    const pipeline::Evaluation first = training.evaluate();
    EXPECT_EQ(training.evaluate().loss, first.loss);
    training.run(3);
    const Outcome outcome = training.outcome();
    EXPECT_NE(outcome.evaluation.loss, first.loss);
    if (group.rank() != 0) return;
    EXPECT_EQ(difference(outcome, expected), "");
  });
}

}  // namespace
}  // namespace trireme::testing
