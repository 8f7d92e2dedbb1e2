// What a layer reads in half precision, on one rank.
#include "trireme/optim/weights.hpp"

#include <gtest/gtest.h>

#include "trireme/kernels/cast.hpp"

namespace trireme::optim {
namespace {

using device::MemoryClass;

/// A matrix and a vector in one bucket, and a table of which this rank has no row.
class HalfWeights : public testing::TestWithParam<Dtype> {
 protected:
  HalfWeights() {
    add("matrix", {5, 7}, 0);
    add("gain", {7}, 0);
    tensor::Parameter& table = add("table", {4, 6}, 1);
    table.shard.offset[0] = 4;
    table.shard.extent[0] = 0;
    weights = std::make_unique<Weights>(device, store, data_axis, arena, WeightsOptions{.compute = GetParam()});
  }

  tensor::Parameter& add(const std::string& name, const tensor::Shape& shape, int bucket) {
    tensor::Parameter made;
    made.name = name;
    made.global_shape = shape;
    made.shard = tensor::whole(shape);
    made.bucket = bucket;
    return store.add(made);
  }

  [[nodiscard]] std::vector<float> read(const std::string& name) {
    const tensor::Tensor& weight = store.find(name)->weight;
    std::vector<float> numbers(static_cast<std::size_t>(weight.size()));
    kernels::cast(device, weight, {.data = numbers.data(), .shape = weight.shape});
    return numbers;
  }

  device::Device device{{}};
  std::unique_ptr<comm::Communicator> self = comm::make_self_communicator();
  DataAxis data_axis{*self};
  device::Arena arena{1 << 16};
  tensor::ParameterStore store;
  std::unique_ptr<Weights> weights;
};

TEST_P(HalfWeights, AreOfMatricesOnly) {
  EXPECT_EQ(store.find("matrix")->weight.dtype, GetParam());
  EXPECT_EQ(store.find("gain")->weight.dtype, Dtype::f32);
  EXPECT_EQ(arena.used_bytes(MemoryClass::parameters), 128U + 64U) << "70 and 28 bytes, each on 64";
  EXPECT_EQ(arena.used_bytes(MemoryClass::masters), 4U * (48 + 16));
}

TEST_P(HalfWeights, OfATableWithoutRowsKeepTypeAndWidth) {
  const tensor::Tensor& weight = store.find("table")->weight;
  EXPECT_EQ(weight.dtype, GetParam());
  EXPECT_EQ(weight.shape, (tensor::Shape{0, 6}));
}

TEST_P(HalfWeights, AreTheMastersRoundedWhenThoseAreShared) {
  // Between 1 and the next number of either format, twice as near to 1.
  const float below = 1 + (GetParam() == Dtype::bf16 ? 0x1p-9F : 0x1p-12F);
  for (float& master : weights->own(0)) master = below;
  EXPECT_EQ(read("matrix")[34], 0) << "not shared yet";
  weights->start_share(0);
  weights->finish_share();
  EXPECT_EQ(read("matrix"), std::vector<float>(35, 1));
  EXPECT_EQ(read("gain"), std::vector<float>(7, below));
  EXPECT_EQ(weights->own(0)[0], below) << "masters stay as they are";
}

TEST_P(HalfWeights, AreDrawnRounded) {
  for (tensor::Parameter& parameter : store.all()) parameter.initial = tensor::Initial::normal;
  for (tensor::Parameter& parameter : store.all()) parameter.deviation = 1;
  weights->draw(11);
  const std::vector<float> matrix = read("matrix");
  const double half_ulp = GetParam() == Dtype::bf16 ? 0x1p-9 : 0x1p-12;
  int rounded = 0;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const float master = weights->own(0)[i];
    EXPECT_NEAR(matrix[i], master, half_ulp * 4);
    rounded += matrix[i] != master;
  }
  EXPECT_GT(rounded, 25);
}

INSTANTIATE_TEST_SUITE_P(Precision, HalfWeights, testing::Values(Dtype::bf16, Dtype::f16),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace trireme::optim
