// Saved on one grid, loaded on another.
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/io/file.hpp"

#include "parallel/parallel.hpp"
#include "parallel/train/train_test.hpp"
#include "support/array.hpp"

namespace trireme::testing {
namespace {

/// Pairs of cases that differ in their placement only.
std::vector<std::array<Case, 2>> draw_pairs(const std::vector<Case>& cases, std::size_t count, test::Numbers& numbers) {
  const auto draw = [&] { return cases[static_cast<std::size_t>(numbers.next(0, static_cast<double>(cases.size())))]; };
  std::vector<std::array<Case, 2>> pairs;
  while (pairs.size() < count) pairs.push_back({draw(), draw()});
  return pairs;
}

class Moves : public TrainTest {
 protected:
  /// Three steps on the first grid, then two more on both.
  void expect_equal_after_a_move(const Case& from, const Case& to) {
    Outcome saved;
    Outcome stayed;
    const std::string checkpoints = folder() + "/checkpoints";
    on_first_ranks(from, [&](comm::Communicator& group) {
      Training training(group, from, folder());
      training.run(3);
      training.save(checkpoints);
      saved = training.outcome();
      training.run(2);
      stayed = training.outcome();
    });
    on_first_ranks(to, [&](comm::Communicator& group) {
      Training training(group, to, folder());
      training.load(checkpoint::step_folder(checkpoints, 3));
      const Outcome loaded = training.outcome();
      training.run(2);
      Outcome moved = training.outcome();
      if (group.rank() != 0) return;
      EXPECT_EQ(difference(loaded.state, saved.state), "");
      moved.losses.insert(moved.losses.begin(), saved.losses.begin(), saved.losses.end());
      moved.norms.insert(moved.norms.begin(), saved.norms.begin(), saved.norms.end());
      moved.loss_scales.insert(moved.loss_scales.begin(), saved.loss_scales.begin(), saved.loss_scales.end());
      EXPECT_EQ(both_promised(from, to) ? difference(moved, stayed) : distance(moved, stayed, 1e-5), "");
    });
    comm::on_root(world(), [&] { io::remove_tree(checkpoints); });
  }

  [[nodiscard]] bool both_promised(const Case& a, const Case& b) const {
    return is_promised(lay(a, folder())) && is_promised(lay(b, folder()));
  }

  void expect_equal_after_moves(const std::vector<Case>& cases, std::size_t count, std::uint64_t seed) {
    test::Numbers numbers(seed);
    for (const auto& [from, to] : draw_pairs(cases, count, numbers)) {
      SCOPED_TRACE(from.text() + " -> " + to.text());
      expect_equal_after_a_move(from, to);
    }
  }
};

TEST_F(Moves, BetweenGridsOfAnEvenModelLeaveNoTrace) {
  for (const std::string& precision : all_precisions) {
    expect_equal_after_moves(tiny_product(world().size(), {precision}), 4, 1);
  }
}

TEST_F(Moves, BetweenGridsOfAnOddModelLeaveNoTrace) {
  const std::vector<Case> places = odd_sample(world().size(), 60, {"fp32"});
  for (const std::string& precision : all_precisions) {
    for (const char* const tied : {"model.tied_embeddings=true", "model.tied_embeddings=false"}) {
      std::vector<Case> cases;
      for (const Case& what : places) {
        cases.push_back(what.placement().with(
            {tied, "model.dropout=0.1", "numerics.grid_invariant=true", "precision.compute=" + precision}));
      }
      expect_equal_after_moves(cases, 2, 2);
    }
  }
}

}  // namespace
}  // namespace trireme::testing
