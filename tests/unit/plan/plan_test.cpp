#include "trireme/plan/plan.hpp"

#include <numeric>

#include <gmock/gmock.h>

#include "trireme/model/counts.hpp"

#include "plan/stage_plan.hpp"

namespace trireme::plan {
namespace {

using comm::Axis;
using comm::GridShape;
using testing::HasSubstr;

GridShape shape(int data, int tensor, int pipeline) {
  return {{tensor, data, pipeline}};
}

config::Deck deck_of(std::int64_t layers = 8, std::int64_t vocab = 1) {
  config::Deck deck;
  deck.model = model::resolved({.layers = layers, .width = 64, .heads = 8, .context = 32, .vocab = vocab});
  deck.batch = {.global = 32, .micro = 2};
  return deck;
}

/// A machine on which only matrix products take time.
MachineRates only_flop() {
  constexpr double endless = 1e300;
  return {.gemm_flop_per_s = 1e9,
          .triad_bytes_per_s = endless,
          .inside = {.latency_s = 0, .bytes_per_s = endless},
          .outside = {.latency_s = 0, .bytes_per_s = endless}};
}

TEST(Plan, OfOneRankTakesItsFlopOverTheRate) {
  const config::Deck deck = deck_of(8, 500);
  const Plan plan = make_plan(deck, shape(1, 1, 1), only_flop());
  EXPECT_EQ(plan.micro_batches, 16);
  EXPECT_DOUBLE_EQ(plan.flop_per_step, 32 * 32 * model::flop_per_token(deck.model));
  EXPECT_NEAR(plan.step_time_s, plan.flop_per_step / 1e9, 1e-9 * plan.step_time_s);
  EXPECT_NEAR(plan.mfu, 1, 1e-9);
  EXPECT_NEAR(plan.simulation.bubble_share, 0, 1e-9);
  EXPECT_EQ(plan.along(Axis::data).sent_bytes, 0);
  EXPECT_EQ(plan.along(Axis::pipeline).sent_bytes, 0);
}

TEST(Plan, OfDataAndTensorRanksDividesTheTime) {
  const config::Deck deck = deck_of(8, 500);
  for (const GridShape& grid : {shape(4, 1, 1), shape(1, 4, 1), shape(2, 8, 1)}) {
    EXPECT_NEAR(make_plan(deck, grid, only_flop()).mfu, 1, 1e-9) << grid.text();
  }
}

TEST(Plan, OfAPipelineHasThePublishedBubble) {
  config::Deck deck = deck_of(8, 0);
  for (const int stages : {2, 4, 8}) {
    const double m = 16;
    const double p = stages;
    const Plan plan = make_plan(deck, shape(1, 1, stages), only_flop());
    EXPECT_NEAR(plan.simulation.bubble_share, (p - 1) / (m + p - 1), 1e-9) << stages;
    EXPECT_NEAR(plan.mfu, m / (m + p - 1), 1e-9) << stages;
  }
  const double plain = make_plan(deck, shape(1, 1, 4), only_flop()).step_time_s;
  deck.pipeline.schedule = "zero_bubble";
  EXPECT_LT(make_plan(deck, shape(1, 1, 4), only_flop()).step_time_s, plain);
  deck.pipeline.schedule = "interleaved";
  deck.pipeline.chunks = 2;
  EXPECT_NEAR(make_plan(deck, shape(1, 1, 4), only_flop()).mfu, 16 / (16 + 3.0 / 2), 1e-9);
}

TEST(Plan, SharesTheParametersAmongStages) {
  const config::Deck deck = deck_of(8, 50);
  const Plan plan = make_plan(deck, shape(1, 1, 4), only_flop());
  std::int64_t parameters = 0;
  for (const StagePlan& stage : plan.stages) parameters += stage.parameters;
  EXPECT_EQ(parameters, model::parameter_count(deck.model) + 50 * 64);  // the tied table stands at both ends
}

TEST(Plan, SendsGradientsAndWeightsAlongTheDataAxis) {
  config::Deck deck = deck_of(8, 50);
  const auto weights = 4.0 * static_cast<double>(model::parameter_count(deck.model));
  const double gradients = weights + 4.0 * 50 * 64;  // a tied table has two
  const auto sent = [&] { return make_plan(deck, shape(4, 1, 1), only_flop()).along(Axis::data).sent_bytes; };
  const double m = 4;
  EXPECT_DOUBLE_EQ(sent(), 0.75 * (gradients + weights));
  deck.sharding.zero_stage = 0;
  EXPECT_DOUBLE_EQ(sent(), 2 * 0.75 * gradients);
  deck.sharding = {.zero_stage = 1, .group = 2};
  EXPECT_DOUBLE_EQ(sent(), 0.5 * gradients + 2 * 0.5 * gradients / 2 + 0.5 * weights);
  deck.sharding = {.zero_stage = 2};
  EXPECT_DOUBLE_EQ(sent(), 0.75 * (m * gradients + weights));
  deck.sharding = {.zero_stage = 3};
  EXPECT_DOUBLE_EQ(sent(), 0.75 * (m * gradients + 2 * m * weights));
  deck.numerics.grid_invariant = true;  // whole gradients, in lanes
  EXPECT_DOUBLE_EQ(sent(), 0.75 * (gradients + 2 * m * weights));
}

TEST(Plan, SendsActivationsAlongThePipeline) {
  config::Deck deck = deck_of(8, 50);
  const double message = 4.0 * 2 * 32 * 64;
  const auto sent = [&](const GridShape& grid) { return make_plan(deck, grid, only_flop()).along(Axis::pipeline); };
  EXPECT_DOUBLE_EQ(sent(shape(1, 1, 2)).sent_bytes, 16 * message);
  EXPECT_DOUBLE_EQ(sent(shape(1, 1, 4)).sent_bytes, 32 * message);
  EXPECT_DOUBLE_EQ(sent(shape(1, 2, 4)).sent_bytes, 32 * message / 2);
  deck.pipeline = {.schedule = "interleaved", .chunks = 2, .layers_per_stage = {}};
  EXPECT_DOUBLE_EQ(sent(shape(1, 1, 2)).messages, 16 * 3);
}

TEST(Plan, InHalfPrecisionTakesTheRateOfItsType) {
  config::Deck deck = deck_of(8, 500);
  MachineRates rates = only_flop();
  rates.gemm_bf16_flop_per_s = 4e9;
  const double fp32 = make_plan(deck, shape(2, 2, 1), rates).step_time_s;
  for (const auto& [compute, faster] : {std::pair{"bf16", 4.0}, {"fp16", 1.0}}) {
    deck.precision.compute = compute;
    const Plan plan = make_plan(deck, shape(2, 2, 1), rates);
    EXPECT_NEAR(plan.step_time_s, fp32 / faster, 1e-9 * fp32) << compute;
    EXPECT_NEAR(plan.mfu, 1, 1e-9) << compute;
  }
}

TEST(Plan, InHalfPrecisionSendsHalvesOfWeightsAndActivationsButWholeGradients) {
  config::Deck deck = deck_of(8, 50);
  deck.precision.compute = "bf16";
  const auto parameters = static_cast<double>(model::parameter_count(deck.model));
  const double gradients = 4.0 * (parameters + 50 * 64);  // a tied table has two
  const auto sent = [&](const GridShape& grid, Axis axis) {
    return make_plan(deck, grid, only_flop()).along(axis).sent_bytes;
  };
  EXPECT_DOUBLE_EQ(sent(shape(4, 1, 1), Axis::data), 0.75 * (gradients + 2.0 * parameters));
  EXPECT_DOUBLE_EQ(sent(shape(1, 1, 4), Axis::pipeline), 32 * 2.0 * 2 * 32 * 64);
  deck.sharding.zero_stage = 0;
  EXPECT_DOUBLE_EQ(sent(shape(4, 1, 1), Axis::data), 2 * 0.75 * gradients);
}

TEST(Plan, InHalfPrecisionAlsoReadsTheNewMastersAndWritesThemRounded) {
  config::Deck deck = deck_of(8, 50);
  MachineRates rates = only_flop();
  rates.triad_bytes_per_s = 1e9;
  const auto update_s = [&] { return make_plan(deck, shape(1, 1, 1), rates).stages[0].update_s; };
  const double fp32 = update_s();
  EXPECT_DOUBLE_EQ(fp32, 32e-9 * static_cast<double>(model::parameter_count(deck.model)));
  deck.precision.compute = "fp16";
  EXPECT_DOUBLE_EQ(update_s(), fp32 * 38 / 32);
}

TEST(Plan, ExposesTheDataAxisOnASlowLink) {
  const config::Deck deck = deck_of(8, 50);
  MachineRates rates = only_flop();
  const double fast = make_plan(deck, shape(4, 1, 1), rates).step_time_s;
  rates.inside.bytes_per_s = 1e6;
  const Plan slow = make_plan(deck, shape(4, 1, 1), rates);
  EXPECT_GT(slow.along(Axis::data).exposed_s, 0);
  EXPECT_LT(slow.along(Axis::data).exposed_s, slow.along(Axis::data).time_s);
  EXPECT_NEAR(slow.step_time_s, fast + slow.along(Axis::data).exposed_s, 1e-9 * slow.step_time_s);
}

TEST(LinkAlong, CrossesHostsWhereAnAxisDoes) {
  MachineRates rates;
  rates.ranks_per_host = 4;
  const auto inside = [&](Axis axis, const GridShape& grid) { return &link_along(axis, grid, rates) == &rates.inside; };
  EXPECT_TRUE(inside(Axis::tensor, shape(2, 4, 2)));
  EXPECT_FALSE(inside(Axis::tensor, shape(1, 8, 1)));
  EXPECT_FALSE(inside(Axis::tensor, shape(4, 3, 1)));  // the second group lies across two hosts
  EXPECT_FALSE(inside(Axis::data, shape(2, 4, 2)));
  EXPECT_TRUE(inside(Axis::data, shape(2, 2, 4)));
  EXPECT_FALSE(inside(Axis::pipeline, shape(2, 2, 4)));
  EXPECT_TRUE(inside(Axis::pipeline, shape(1, 1, 3)));
  rates.ranks_per_host = 0;
  EXPECT_TRUE(inside(Axis::tensor, shape(1, 8, 1)));
}

TEST(Memory, IsAskedForEveryRankOfASmallGridAndForTheEndsOfALargeOne) {
  EXPECT_EQ(ranks_to_lay_out(shape(4, 4, 4)).size(), 64U);
  const std::vector<int> ranks = ranks_to_lay_out(shape(16, 4, 3));
  EXPECT_EQ(ranks.size(), 3U * 2 * 2);
  EXPECT_THAT(ranks, testing::IsSupersetOf({0, 3, 60, 63, 64, 191}));
  const Plan plan = make_plan(deck_of(), shape(2, 1, 2), only_flop(), [](const GridShape& at) {
    MemoryBytes bytes{};
    bytes[0] = 1024 * (1 + at[Axis::data] + 2 * at[Axis::pipeline]);
    return bytes;
  });
  ASSERT_EQ(plan.memory.size(), 4U);
  EXPECT_EQ(plan.memory[3][0], 4096);
  EXPECT_THAT(describe(plan), HasSubstr("parameters           1.00 KiB     3.00 KiB     4.00 KiB\n"));
}

TEST(Describe, TellsLayoutTimeStagesAndTraffic) {
  const std::string text = describe(make_plan(deck_of(8, 500), shape(2, 2, 2), MachineRates{}));
  EXPECT_THAT(text, HasSubstr("grid 2x2x2 (data x tensor x pipeline), 8 ranks: 8 micro-batches of 2 sequences a data "
                              "rank, 2 tensor slices, state shared in groups of 2, gradients whole\n"));
  EXPECT_THAT(text, HasSubstr("schedule 1f1b, bubble "));
  EXPECT_THAT(text, HasSubstr("embedding 0-3\n"));
  EXPECT_THAT(text, HasSubstr("4-7 head\n"));
  EXPECT_THAT(text, HasSubstr("\ndata "));
  EXPECT_THAT(text, HasSubstr("\ntensor "));
  EXPECT_THAT(text, HasSubstr("\npipeline "));
  EXPECT_THAT(describe(make_plan(deck_of(), shape(1, 1, 1), MachineRates{})), testing::Not(HasSubstr("exposed")));
  config::Deck one = deck_of();
  one.batch = {.global = 1, .micro = 1};
  EXPECT_THAT(describe(make_plan(one, shape(1, 1, 1), MachineRates{})),
              HasSubstr(", 1 rank: 1 micro-batch of 1 sequence a data rank\n"));
}

}  // namespace
}  // namespace trireme::plan
