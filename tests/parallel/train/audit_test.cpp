// One changed bit on one rank is found and named; nothing is found where all is well; numbers that are not finite are
// traced to where they came from.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trireme/base/error.hpp"

#include "parallel/parallel.hpp"
#include "parallel/train/train_test.hpp"

namespace trireme::testing {
namespace {

using optim::StatePart;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// The array of a name that has this part; one that is there on this rank.
optim::HeldArray array_of(Training& training, const std::string& name, StatePart part) {
  for (const optim::HeldArray& array : training.trainer().held_state()) {
    if (array.parameter->name == name && array.part == part) return array;
  }
  ADD_FAILURE() << name << " is not here";
  return {};
}

void flip_last_bit(const optim::HeldArray& array) {
  if (array.values.empty()) return;
  auto* const bytes = static_cast<std::uint8_t*>(array.values.data);
  bytes[array.values.bytes() - size_of(array.values.dtype)] ^= 1U;
}

std::string message_of(Training& training, std::int64_t step, bool replicas = true, bool finite = true) {
  try {
    training.trainer().audit(step, replicas, finite);
  } catch (const NumericalError& error) {
    return error.what();
  }
  return {};
}

struct Flip {
  Case what;
  int rank;
  std::string name;
  StatePart part;
  std::string where;
};

class Audits : public TrainTest {
 protected:
  void expect_named(const Flip& flip) {
    if (lay(flip.what, folder()).grid.size() > world().size()) return;
    SCOPED_TRACE(flip.what.text() + " " + flip.name);
    on_first_ranks(flip.what, [&](comm::Communicator& group) {
      Training training(group, flip.what, folder());
      training.run(2);
      EXPECT_EQ(message_of(training, 2), "");
      if (group.rank() == flip.rank) flip_last_bit(array_of(training, flip.name, flip.part));
      EXPECT_THAT(
          message_of(training, 2),
          AllOf(HasSubstr("step 2:"), HasSubstr("`" + flip.name + "`"), HasSubstr(flip.where),
                HasSubstr(std::string(optim::name_of(flip.part))), HasSubstr(fmt::format("rank {} (", flip.rank))));
      if (group.rank() == flip.rank) flip_last_bit(array_of(training, flip.name, flip.part));
      EXPECT_EQ(message_of(training, 2), "");
    });
  }
};

constexpr const char* query = "blocks.1.attention.query.weight";
constexpr const char* key = "blocks.1.attention.key.weight";

TEST_F(Audits, NameOneBitOfDataReplicas) {
  const Case two{Base::tiny, {"grid.data=2"}};
  expect_named({two, 1, query, StatePart::weights, "data axis"});
  expect_named({two.with({"sharding.zero_stage=0"}), 1, query, StatePart::second_moment, "groups"});
  expect_named({two.with({"sharding.zero_stage=2"}), 1, query, StatePart::weights, "data axis"});
  expect_named(
      {two.with({"precision.compute=bf16", "sharding.zero_stage=1"}), 1, query, StatePart::weights, "data axis"});
  expect_named({two.with({"precision.compute=fp16", "sharding.zero_stage=0"}), 1, query, StatePart::masters, "groups"});
}

TEST_F(Audits, NameOneBitOfAGroup) {
  const Case groups{Base::tiny, {"grid.data=4", "sharding.group=2"}};
  for (const char* const stage : {"sharding.zero_stage=1", "sharding.zero_stage=3"}) {
    expect_named({groups.with({stage}), 2, "blocks.0.norm_1.gain", StatePart::first_moment, "groups"});
  }
  expect_named({groups.with({"sharding.zero_stage=3"}), 2, "blocks.0.norm_1.gain", StatePart::masters, "groups"});
}

TEST_F(Audits, NameOneBitOfTensorReplicas) {
  const Case two{Base::tiny, {"grid.tensor=2"}};
  expect_named({two, 1, "final_norm.gain", StatePart::weights, "tensor axis"});
  expect_named({two, 1, "embedding.position.weight", StatePart::first_moment, "tensor axis"});
  const Case odd{Base::odd, {"grid.tensor=2", "grid.data=2", "sharding.zero_stage=3"}};
  expect_named({odd, 1, "final_norm.gain", StatePart::masters, "tensor axis"});
}

TEST_F(Audits, NameOneBitOfSharedKeysAndValues) {
  const Case shared{Base::tiny, {"grid.tensor=2", "model.kv_heads=1"}};
  expect_named({shared, 1, key, StatePart::weights, "keys and values"});
  expect_named({shared, 1, key, StatePart::second_moment, "keys and values"});
  expect_named(
      {Case{Base::tiny, {"grid.tensor=4", "model.kv_heads=2"}}, 3, key, StatePart::weights, "keys and values"});
}

TEST_F(Audits, NameOneBitOfATiedTable) {
  const Case two{Base::tiny, {"grid.pipeline=2"}};
  expect_named({two, 1, "embedding.token.weight", StatePart::weights, "last stage"});
  expect_named({two.with({"precision.compute=bf16"}), 1, "embedding.token.weight", StatePart::masters, "last stage"});
  const Case sharded{Base::tiny, {"grid.pipeline=2", "grid.data=2", "sharding.zero_stage=3"}};
  expect_named({sharded, 2, "embedding.token.weight", StatePart::masters, "last stage"});
}

TEST_F(Audits, NameTheRankThatTheOthersOutvote) {
  if (world().size() < 3) return;
  const Case three{Base::odd, {"grid.data=3", "batch.global=12"}};
  on_first_ranks(three, [&](comm::Communicator& group) {
    Training training(group, three, folder());
    training.run(1);
    if (group.rank() == 0) flip_last_bit(array_of(training, query, StatePart::weights));
    EXPECT_THAT(message_of(training, 1), AllOf(HasSubstr("rank 0 (`"), HasSubstr("not as ranks 1, 2")));
  });
}

TEST_F(Audits, NameCountersThatDiffer) {
  const Case two{Base::tiny, {"grid.data=2"}};
  on_first_ranks(two, [&](comm::Communicator& group) {
    Training training(group, two, folder());
    training.run(1);
    EXPECT_THAT(message_of(training, 1 + group.rank()), AllOf(HasSubstr("counters"), HasSubstr("steps")));
  });
}

TEST_F(Audits, NameATensorThatIsNotFinite) {
  const Case two{Base::tiny, {"grid.data=2", "sharding.zero_stage=1"}};
  on_first_ranks(two, [&](comm::Communicator& group) {
    Training training(group, two, folder());
    training.run(1);
    std::string expected;
    if (group.rank() == 1) {
      for (const optim::HeldArray& array : training.trainer().held_state()) {
        if (array.part != StatePart::first_moment) continue;
        array.values.as<float>()[0] = std::numeric_limits<float>::infinity();
        expected = array.parameter->name;
        break;
      }
    }
    group.broadcast_text(expected, 1);
    EXPECT_EQ(message_of(training, 1, true, false), "");
    EXPECT_THAT(message_of(training, 1), AllOf(HasSubstr("not finite on rank 1"), HasSubstr("`" + expected + "`")));
  });
}

/// Weights of one rank that are not finite, and where a step says that they are.
struct Poison {
  Case what;
  int rank;
  std::string name;
  std::string where;
};

class Culprits : public TrainTest {
 protected:
  void expect_found(const Poison& poison) {
    if (lay(poison.what, folder()).grid.size() > world().size()) return;
    SCOPED_TRACE(poison.what.text() + " " + poison.name);
    on_first_ranks(poison.what, [&](comm::Communicator& group) {
      Training training(group, poison.what, folder());
      training.run(1);
      if (group.rank() == poison.rank) {
        const optim::HeldArray array = array_of(training, poison.name, StatePart::weights);
        if (!array.values.empty()) array.values.as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
      }
      const train::StepResult result = training.step();
      EXPECT_EQ(result.outcome, train::StepOutcome::nonfinite);
      EXPECT_THAT(result.culprit, AllOf(HasSubstr(poison.where), HasSubstr(fmt::format("on rank {} (", poison.rank)),
                                        HasSubstr("micro-batch 0 of its"), HasSubstr("sample")));
    });
  }
};

TEST_F(Culprits, AreFoundOnTheRankAndStageWhereTheyBegan) {
  expect_found({Case{Base::tiny, {}}, 0, "blocks.2.norm_1.gain", "forward pass of the embedding and layers 0-3"});
  expect_found({Case{Base::tiny, {"grid.data=2"}}, 1, query, "forward pass"});
  expect_found({Case{Base::tiny, {"grid.pipeline=2"}}, 1, "blocks.3.norm_1.gain", "forward pass of layers 2-3"});
  expect_found(
      {Case{Base::tiny, {"grid.pipeline=2"}}, 1, "final_norm.gain", "backward pass of layers 2-3 and the head"});
  expect_found({Case{Base::tiny, {"grid.data=2", "grid.pipeline=2", "pipeline.schedule=zero_bubble"}}, 3,
                "blocks.3.norm_1.gain", "forward pass of layers 2-3"});
}

}  // namespace
}  // namespace trireme::testing
