// Against sums in double that know nothing of lanes, buckets and ranks: what all forms of the code could get wrong
// alike.
#include <cmath>

#include <gtest/gtest.h>

#include "parallel/optim/toy_training.hpp"
#include "parallel/parallel.hpp"

namespace trireme::optim {
namespace {

using testing::toy_gradient;
using testing::ToyTraining;
using testing::world;

double whole_gradient(const std::string& name, std::int64_t element, std::int64_t micro_batches) {
  double sum = 0;
  for (std::int64_t i = 0; i < micro_batches; ++i) sum += static_cast<double>(toy_gradient(0, i, name, element));
  return sum;
}

TEST(Reference, EveryMicroBatchReachesTheGradient) {
  const std::int64_t micro_batches = 4 * world().size();
  ToyTraining training(world(), {.micro_batches = micro_batches, .lanes = world().size()});
  training.step();
  for (int bucket = 0; bucket < training.gradients().num_buckets(); ++bucket) {
    const float* const gradients = training.gradients().gradients(bucket).as<float>();
    const BucketLayout& layout = training.gradients().layout(bucket);
    for (const OwnedRows& rows : layout.owned) {
      const std::int64_t columns = rows.elements / (rows.end - rows.begin);
      double worst = 0;
      for (std::int64_t i = 0; i < rows.elements; ++i) {
        const double expected = whole_gradient(rows.parameter->name, rows.begin * columns + i, micro_batches);
        worst = std::max(worst, std::abs(expected - static_cast<double>(gradients[rows.bucket_offset + i])));
      }
      EXPECT_LT(worst, 1e-6) << rows.parameter->name;
    }
  }
}

TEST(Reference, TheNormCountsEachLogicalElementOnce) {
  const std::int64_t micro_batches = 2 * world().size();
  for (const bool tied : {true, false}) {
    for (const int zero_stage : {0, 1}) {
      ToyTraining training(
          world(), {.micro_batches = micro_batches, .lanes = world().size(), .zero_stage = zero_stage, .tied = tied});
      training.step();
      double squares = 0;
      for (const tensor::Parameter& parameter : training.store().all()) {
        if (!parameter.trainable || !parameter.tied_to.empty()) continue;
        for (std::int64_t i = 0; i < parameter.global_shape.size(); ++i) {
          double gradient = whole_gradient(parameter.name, i, micro_batches);
          if (tied && parameter.name == "token") gradient += whole_gradient("head", i, micro_batches);
          squares += gradient * gradient;
        }
      }
      EXPECT_NEAR(training.norm(), std::sqrt(squares), 1e-6 * std::sqrt(squares));
    }
  }
}

}  // namespace
}  // namespace trireme::optim
