// A tied table whose ends are on two stages: the gradient of one end and the weights of the other are carried over, own
// piece by own piece. Both stages are in this process; each has its own data axis.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "trireme/optim/optimizer.hpp"

#include "parallel/optim/toy_training.hpp"
#include "parallel/parallel.hpp"

namespace trireme::optim {
namespace {

using testing::ToyGradient;
using testing::ToySum;
using testing::world;

constexpr int table = 0;
constexpr int second = 1;
constexpr int rest = 2;

tensor::Parameter entry(const std::string& name, const tensor::Shape& shape, int bucket) {
  tensor::Parameter made;
  made.name = name;
  made.global_shape = shape;
  made.shard = tensor::whole(shape);
  made.bucket = bucket;
  made.decays = true;
  return made;
}

void fill(tensor::ParameterStore& store, bool table_follows, bool second_follows, const std::string& other) {
  tensor::Parameter token = entry("token", {41, 24}, table);
  token.follows = table_follows;
  store.add(token);
  tensor::Parameter head = entry("head", {41, 24}, second);
  head.tied_to = "token";
  head.follows = second_follows;
  store.add(head);
  store.add(entry(other, {1100}, rest));
}

struct Stage {
  Stage(int zero_stage, int group, bool is_first, Dtype compute = Dtype::f32)
      : data_axis((fill(store, !is_first, is_first, is_first ? "first" : "last"), world()), group),
        weights(device, store, data_axis, arena, {.sharded = zero_stage == 3, .compute = compute}),
        gradients(device, data_axis, weights, arena, {.sharded = zero_stage >= 2}),
        optimizer(device, weights, gradients, data_axis, *self, arena, {}) {
    for (const StatePiece& piece : optimizer.state()) {
      const tensor::Shape& offset = piece.rectangle.offset;
      const std::int64_t first = offset[0] * (offset.num_dims() == 2 ? piece.parameter->global_shape[1] : 1);
      for (std::int64_t i = 0; i < piece.rectangle.extent.size(); ++i) {
        piece.weight[i] = testing::toy_weight(piece.parameter->name, first + i);
      }
    }
    optimizer.share_loaded_state();
  }

  void backward(std::int64_t step, const std::vector<int>& buckets) {
    gradients.begin_step();
    for (int bucket : buckets) {
      (void)gradients.write(bucket);
      for (tensor::Parameter* each : store.bucket(bucket)) {
        const ToyGradient values(step, world().rank(), each->name);
        for (std::int64_t i = 0; i < each->gradient.size(); ++i) each->gradient.as<float>()[i] = values[i];
      }
      gradients.bucket_done(bucket);
    }
    gradients.finish();
  }

  [[nodiscard]] std::int64_t wrong(const std::string& name, const testing::ToyReference& reference) {
    const tensor::Parameter& parameter = *store.find(name);
    weights.acquire(parameter.bucket);
    const bool equal = testing::holds(parameter.weight, reference.at(name).weight.data());
    weights.release(parameter.bucket);
    return equal ? 0 : 1;
  }

  std::unique_ptr<comm::Communicator> self = comm::make_self_communicator();
  device::Device device{{}};
  device::Arena arena{1 << 20};
  tensor::ParameterStore store;
  DataAxis data_axis;
  Weights weights;
  GradientSync gradients;
  Optimizer optimizer;
};

void copy(std::span<const float> from, std::span<float> to) {
  ASSERT_EQ(from.size(), to.size());
  std::copy(from.begin(), from.end(), to.begin());
}

void expect_one_table(int zero_stage, int group, Dtype compute) {
  Stage first(zero_stage, group, true, compute);
  Stage last(zero_stage, group, false, compute);
  tensor::ParameterStore whole;
  fill(whole, false, false, "first");
  whole.add(entry("last", {1100}, rest));
  testing::ToyReference reference(
      whole, {.ranks = world().size(), .group = group, .micro_batches = 1, .sharded = zero_stage >= 2});
  EXPECT_TRUE(last.gradients.own(table).empty()) << "a table that follows has no gradient";

  for (int step = 0; step < 2; ++step) {
    reference.step();
    last.backward(step, {second, rest});
    first.backward(step, {rest, table});
    copy(last.gradients.own(second), first.gradients.own(second));

    const double norm = [&] {
      const double squares = std::pow(first.optimizer.gradient_norm(), 2) + std::pow(last.optimizer.gradient_norm(), 2);
      // Each rank asked for its own piece only.
      std::vector<double> all(static_cast<std::size_t>(world().size()));
      world().all_gather(&squares, sizeof(squares), all.data());
      double sum = 0;
      for (double part : all) sum += part;
      return std::sqrt(sum);
    }();
    EXPECT_NEAR(norm, reference.norm(), 1e-12 * reference.norm());

    const double scale = clip_factor(reference.norm(), 0.5);
    first.optimizer.update(1e-3, scale, step + 1, [&](int bucket) {
      if (bucket != table) return;
      copy(first.weights.own(table), last.weights.own(table));
      last.weights.start_share(table);
    });
    last.optimizer.update(1e-3, scale, step + 1);
    EXPECT_EQ(first.wrong("token", reference) + first.wrong("first", reference), 0);
    EXPECT_EQ(last.wrong("token", reference) + last.wrong("last", reference), 0);
  }
}

TEST(FarTable, IsTheSameAsANearOne) {
  for (const int zero_stage : {1, 2, 3}) {
    for (int group = 1; group <= world().size(); ++group) {
      if (world().size() % group != 0) continue;
      SCOPED_TRACE("ZeRO " + std::to_string(zero_stage) + ", group " + std::to_string(group));
      for (const Dtype compute : {Dtype::f32, Dtype::bf16}) expect_one_table(zero_stage, group, compute);
    }
  }
}

TEST(FarTable, IsCountedOnTheStageThatUpdatesIt) {
  Stage first(1, world().size(), true);
  Stage last(1, world().size(), false);
  std::int64_t elements = 0;
  for (Stage* stage : {&first, &last}) {
    for (const StatePiece& piece : stage->optimizer.state()) {
      if (piece.parameter->name == "token") elements += piece.counted ? piece.rectangle.extent.size() : 0;
      EXPECT_EQ(piece.first_moment == nullptr, piece.parameter->follows);
    }
  }
  EXPECT_EQ(world().all_reduce_sum(elements), 41 * 24);
}

}  // namespace
}  // namespace trireme::optim
