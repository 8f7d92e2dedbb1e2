// Embedding and head against references in double.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/compare.hpp"
#include "unit/layers/cases.hpp"

namespace trireme {
namespace {

using test::Arrays;
using test::EndsCase;
using test::EndsRun;
using test::Outcome;
using Doubles = std::vector<double>;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

Doubles doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// What the ends should give, and the gradients, written out by hand.
struct EndsReference {
  Doubles embedded, log_probability, dx, last_logits;
  std::map<std::string, Doubles> gradients;
};

class Reference {
 public:
  Reference(EndsRun& run, const EndsCase& of)
      : case_(of),
        device_(run.rig().device()),
        batch_(of.batch, of.tokens, of.vocab, true),
        weights_(run.rig().whole_weights()) {
    batch_.sequences.first_sequence = 0;
    for (const auto& [name, values] : weights_) result_.gradients[name].resize(values.size());
    result_.gradients["head.weight"].resize(at(of.vocab * of.width));
  }

  EndsReference operator()() {
    const std::string table = case_.tied ? layers::token_table_name : "head.weight";
    for (std::int64_t n = 0; n < case_.rows(); ++n) {
      const Doubles x = embed(n);
      result_.embedded.insert(result_.embedded.end(), x.begin(), x.end());
      const Doubles dx = head_row(n, x, weights_.at(table));
      result_.dx.insert(result_.dx.end(), dx.begin(), dx.end());
      if (!case_.far_table) embed_backward(n, dx);
    }
    return result_;
  }

 private:
  [[nodiscard]] double kept(std::int64_t n, std::int64_t d) const {
    const kernels::Dropout dropout = batch_.sequences.dropout(case_.dropout, 0);
    const std::int64_t element = n % case_.tokens * case_.width + d;
    if (!kernels::survives(dropout, n / case_.tokens, element)) return 0;
    return 1 / (1 - static_cast<double>(dropout.probability));
  }

  Doubles embed(std::int64_t n) {
    if (case_.far_table) {
      const std::vector<float> x = test::normals("x0", case_.rows() * case_.width);
      return doubles(test::rounded(device_, test::cut(x, n * case_.width, case_.width), case_.compute));
    }
    Doubles x;
    for (std::int64_t d = 0; d < case_.width; ++d) {
      double value = weights_.at(layers::token_table_name)[at(batch_.ids[at(n)] * case_.width + d)];
      if (case_.learned_positions) {
        value += weights_.at("embedding.position.weight")[at(n % case_.tokens * case_.width + d)];
      }
      x.push_back(value * kept(n, d));
    }
    return x;
  }

  void embed_backward(std::int64_t n, const Doubles& dx) {
    for (std::int64_t d = 0; d < case_.width; ++d) {
      const double gradient = dx[at(d)] * kept(n, d);
      result_.gradients.at(layers::token_table_name)[at(batch_.ids[at(n)] * case_.width + d)] += gradient;
      if (!case_.learned_positions) continue;
      result_.gradients.at("embedding.position.weight")[at(n % case_.tokens * case_.width + d)] += gradient;
    }
  }

  /// Of LayerNorm and RMSNorm: x = (hat * gain + bias).
  Doubles head_row(std::int64_t n, const Doubles& x, const Doubles& table) {
    const std::int64_t width = case_.width;
    const auto size = static_cast<double>(width);
    const bool layer = case_.norm == layers::NormKind::layer;
    double mean = 0;
    double squares = 0;
    for (const double value : x) mean += layer ? value / size : 0;
    for (const double value : x) squares += (value - mean) * (value - mean);
    const double rstd = 1 / std::sqrt(squares / size + 1e-5);
    const Doubles& gain = weights_.at("final_norm.gain");
    Doubles hat, normed;
    for (std::int64_t d = 0; d < width; ++d) {
      hat.push_back((x[at(d)] - mean) * rstd);
      normed.push_back(hat[at(d)] * gain[at(d)] + (layer ? weights_.at("final_norm.bias")[at(d)] : 0));
    }

    const Doubles dnormed = cross_entropy_row(n, normed, table);
    Doubles dhat;
    double mean_dhat = 0;
    double mean_product = 0;
    for (std::int64_t d = 0; d < width; ++d) {
      result_.gradients.at("final_norm.gain")[at(d)] += dnormed[at(d)] * hat[at(d)];
      if (layer) result_.gradients.at("final_norm.bias")[at(d)] += dnormed[at(d)];
      dhat.push_back(dnormed[at(d)] * gain[at(d)]);
      mean_dhat += layer ? dhat.back() / size : 0;
      mean_product += dhat.back() * hat[at(d)] / size;
    }
    Doubles dx;
    for (std::int64_t d = 0; d < width; ++d) dx.push_back(rstd * (dhat[at(d)] - mean_dhat - hat[at(d)] * mean_product));
    return dx;
  }

  /// Of one row: log-probability, gradient of the table; returns that of `normed`.
  Doubles cross_entropy_row(std::int64_t n, const Doubles& normed, const Doubles& table) {
    const std::int64_t width = case_.width;
    const double coefficient = static_cast<double>(batch_.coefficients[at(n)]);
    const std::int64_t target = batch_.targets[at(n)];
    Doubles logits(at(case_.vocab));
    double total = 0;
    for (std::int64_t v = 0; v < case_.vocab; ++v) {
      for (std::int64_t d = 0; d < width; ++d) logits[at(v)] += normed[at(d)] * table[at(v * width + d)];
      total += std::exp(logits[at(v)]);
    }
    result_.last_logits = logits;
    log_probability_.push_back(logits[at(target)] - std::log(total));
    result_.log_probability.push_back(coefficient == 0 ? 0 : log_probability_.back());
    Doubles dnormed(at(width));
    for (std::int64_t v = 0; v < case_.vocab; ++v) {
      const double gradient = coefficient * (std::exp(logits[at(v)]) / total - (v == target ? 1 : 0));
      for (std::int64_t d = 0; d < width; ++d) {
        dnormed[at(d)] += gradient * table[at(v * width + d)];
        result_.gradients.at("head.weight")[at(v * width + d)] += gradient * normed[at(d)];
      }
    }
    return dnormed;
  }

 public:
  [[nodiscard]] const Doubles& all_log_probabilities() const { return log_probability_; }

 private:
  EndsCase case_;
  const device::Device& device_;
  test::Batch batch_;
  std::map<std::string, Doubles> weights_;
  Doubles log_probability_;  // of rows with coefficient 0 too
  EndsReference result_;
};

/// Of the largest element. In half precision the sum of the two embeddings is rounded twice; the logits are made from
/// a residual and a norm of one rounding each, and their gradients pass two more.
struct Tolerances {
  explicit Tolerances(Dtype compute) {
    if (compute == Dtype::f32) return;
    embedded = 2 * test::rounding_of(compute);
    forward = 3 * test::rounding_of(compute);
    backward = 4 * test::rounding_of(compute);
  }
  double embedded = 1e-6;
  double forward = 2e-6;
  double backward = 1e-5;
};

void expect_reference(const EndsCase& of, std::int64_t slices) {
  SCOPED_TRACE(std::to_string(slices) + " slices, vocabulary of " + std::to_string(of.vocab) + ", " +
               std::string(name_of(of.compute)));
  const Tolerances tolerances(of.compute);
  const auto self = comm::make_self_communicator();
  EndsRun run(*self, slices, of);
  const Outcome outcome = run.run();
  Reference reference(run, of);
  const EndsReference expected = reference();
  EXPECT_TRUE(test::all_near(outcome.own_rows.at("embedded0"), expected.embedded, tolerances.embedded));
  EXPECT_TRUE(test::all_near(outcome.alike.at("log_probability0"), expected.log_probability, tolerances.forward));
  EXPECT_TRUE(test::all_near(outcome.alike.at("evaluated0"), reference.all_log_probabilities(), tolerances.forward));
  EXPECT_TRUE(test::all_near(outcome.alike.at("logits0"), expected.last_logits, tolerances.forward));
  EXPECT_TRUE(test::all_near(outcome.own_rows.at("dx0"), expected.dx, tolerances.backward));
  for (const auto& [name, gradient] : expected.gradients) {
    if (of.far_table && name == layers::token_table_name) continue;
    const Doubles actual = run.rig().whole(name, &tensor::Parameter::gradient);
    EXPECT_TRUE(test::all_near({actual.begin(), actual.end()}, gradient, tolerances.backward)) << name;
  }
}

TEST(Ends, MatchTheReferenceInAnyNumberOfSlices) {
  for (const std::int64_t slices : {1, 2, 3, 4, 8}) expect_reference({}, slices);
}

TEST(Ends, MatchTheReferenceWithATableOfTheHeadsOwn) {
  for (const std::int64_t slices : {1, 4}) {
    expect_reference({.norm = layers::NormKind::rms, .tied = false, .learned_positions = false}, slices);
  }
}

TEST(Ends, MatchTheReferenceWithAFarTable) {
  for (const std::int64_t slices : {1, 4}) expect_reference({.far_table = true}, slices);
}

TEST(Ends, MatchTheReferenceWithEmptyVocabularySlices) {
  for (const std::int64_t vocab : {1, 3, 5, 17}) expect_reference({.vocab = vocab}, 4);
}

TEST(Ends, MatchTheReferenceOverSeveralChunks) {
  for (const std::int64_t slices : {1, 4}) expect_reference({.tokens = 181, .vocab = 19, .width = 11}, slices);
}

TEST(Ends, MatchTheReferenceWithOneRow) {
  expect_reference({.batch = 1, .tokens = 1}, 4);
}

TEST(Ends, MatchTheReferenceInHalfPrecision) {
  for (const Dtype compute : {Dtype::bf16, Dtype::f16}) {
    for (const std::int64_t slices : {1, 2, 4}) {
      expect_reference({.compute = compute}, slices);
      expect_reference({.norm = layers::NormKind::rms, .tied = false, .learned_positions = false, .compute = compute},
                       slices);
      expect_reference({.far_table = true, .compute = compute}, slices);
      expect_reference({.tokens = 181, .vocab = 19, .width = 11, .compute = compute}, slices);
      expect_reference({.batch = 1, .tokens = 1, .vocab = 3, .compute = compute}, slices);
    }
  }
}

TEST(VocabularySlices, OfEqualLengthButForTheLast) {
  using layers::Range;
  const auto slice = [](std::int64_t vocab, std::int64_t slices, std::int64_t k) {
    const Range range = layers::vocabulary_slice(vocab, slices, k);
    return std::pair(range.begin, range.count);
  };
  EXPECT_EQ(slice(5, 4, 0), std::pair(std::int64_t{0}, std::int64_t{2}));
  EXPECT_EQ(slice(5, 4, 1), std::pair(std::int64_t{2}, std::int64_t{2}));
  EXPECT_EQ(slice(5, 4, 2), std::pair(std::int64_t{4}, std::int64_t{1}));
  EXPECT_EQ(slice(5, 4, 3), std::pair(std::int64_t{5}, std::int64_t{0}));
  EXPECT_EQ(slice(50257, 8, 7), std::pair(std::int64_t{43981}, std::int64_t{6276}));
}

TEST(FarTable, FollowsInABucketOfItsOwnAndTheGradientIsTied) {
  const auto self = comm::make_self_communicator();
  EndsRun run(*self, 4, {.far_table = true});
  const auto tables = run.rig().parameters().entries(layers::token_table_name);
  const auto gradients = run.rig().parameters().entries("head.weight");
  ASSERT_EQ(tables.size(), 4U);
  ASSERT_EQ(gradients.size(), 4U);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_TRUE(tables[k]->follows);
    EXPECT_EQ(tables[k]->bucket, 2);
    EXPECT_FALSE(gradients[k]->follows);
    EXPECT_EQ(gradients[k]->bucket, 1);
    EXPECT_EQ(gradients[k]->tied_to, layers::token_table_name);
    EXPECT_EQ(gradients[k]->shard, tables[k]->shard);
  }
}

TEST(Entries, ReplicasCountOnRankZeroOnly) {
  const auto counted = [](int rank) {
    const auto planned = comm::make_planned_communicator(rank, 4);
    test::Rig rig(*planned, {.slices = 4, .kv_heads = 2, .head_width = 6, .width = 20}, 8);
    const layers::Block block(rig.parameters(), test::BlockCase{.kv_heads = 2}.options(), rig.axis());
    std::map<std::string, bool> result;
    for (const tensor::Parameter& parameter : rig.parameters().all()) result[parameter.name] = parameter.counted;
    return result;
  };
  for (int rank = 0; rank < 4; ++rank) {
    const auto of_rank = counted(rank);
    for (const char* name : {"norm_1.gain", "norm_2.bias", "attention.output.bias", "mlp.down.bias"}) {
      EXPECT_EQ(of_rank.at(name), rank == 0) << name;
    }
    for (const char* name : {"attention.key.weight", "attention.value.bias"}) {
      EXPECT_EQ(of_rank.at(name), rank % 2 == 0) << name;
    }
    for (const char* name : {"attention.query.weight", "attention.output.weight", "mlp.up.bias", "mlp.down.weight"}) {
      EXPECT_TRUE(of_rank.at(name)) << name;
    }
  }
}

}  // namespace
}  // namespace trireme
