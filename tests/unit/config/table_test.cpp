// What is made from the option table: resolved decks, the reference page, help, the comparison on resume.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/options.hpp"
#include "unit/config/decks.hpp"

namespace trireme::config {
namespace {

using testing::HasSubstr;

/// Another legal value than `value`, ranges and choices aside.
Value changed(const Value& value, const Option& option) {
  if (const auto* x = std::get_if<bool>(&value)) return !*x;
  if (const auto* x = std::get_if<std::int64_t>(&value)) return *x + 1;
  if (const auto* x = std::get_if<double>(&value)) return *x + 0.25;
  if (const auto* x = std::get_if<std::string>(&value)) {
    return option.place.choices.empty() ? *x + "x" : option.place.choices.back();
  }
  if (std::holds_alternative<std::vector<double>>(value)) return std::vector<double>{0.5};
  if (std::holds_alternative<std::vector<std::int64_t>>(value)) return std::vector<std::int64_t>{3};
  return std::vector<std::string>{"x"};
}

std::set<std::string> keys_that_differ(const Deck& a, const Deck& b) {
  std::set<std::string> keys;
  for (const Difference& difference : compare_for_resume(a, b)) keys.insert(difference.key);
  return keys;
}

TEST(Table, PointsEachOptionAtItsOwnMember) {
  for (const std::string& key : all_keys()) {
    const Option& option = *find_option(key);
    Deck deck;
    const Value value = changed(option.place.get(deck), option);
    option.place.set(deck, value);
    EXPECT_EQ(option.place.get(deck), value) << key;
    EXPECT_EQ(keys_that_differ(Deck{}, deck), std::set<std::string>{key});
  }
}

TEST(Table, HasWholeRowsAndDefaultsThatItAccepts) {
  std::set<std::string> keys;
  for (const Section& section : sections()) {
    for (const Option& option : section.options) {
      EXPECT_EQ(option.section(), section.name);
      EXPECT_TRUE(keys.insert(option.key).second) << option.key;
      EXPECT_FALSE(option.sentence.empty()) << option.key;
      EXPECT_FALSE(option.owner.empty()) << option.key;
      EXPECT_EQ(option.only.empty(), option.why_only.empty()) << option.key;
    }
  }
}

TEST(Table, HasEveryFixedName) {
  for (const char* key : {"run.name",
                          "run.output",
                          "run.steps",
                          "run.seed",
                          "run.resume",
                          "model.layers",
                          "model.width",
                          "model.heads",
                          "model.kv_heads",
                          "model.head_width",
                          "model.mlp_width",
                          "model.context",
                          "model.vocab",
                          "model.norm",
                          "model.norm_epsilon",
                          "model.activation",
                          "model.position",
                          "model.rotary_base",
                          "model.bias",
                          "model.tied_embeddings",
                          "model.dropout",
                          "model.initial_deviation",
                          "data.train",
                          "data.validation",
                          "data.weights",
                          "data.shuffle_block",
                          "grid.data",
                          "grid.tensor",
                          "grid.pipeline",
                          "batch.global",
                          "batch.micro",
                          "pipeline.schedule",
                          "pipeline.chunks",
                          "pipeline.layers_per_stage",
                          "sharding.zero_stage",
                          "sharding.group",
                          "recompute.mode",
                          "recompute.layers",
                          "precision.compute",
                          "precision.loss_scale_initial",
                          "precision.loss_scale_window",
                          "numerics.grid_invariant",
                          "numerics.data_lanes",
                          "numerics.tensor_slices",
                          "numerics.isa",
                          "numerics.audit_steps",
                          "numerics.on_nonfinite",
                          "numerics.trace",
                          "optimizer.beta1",
                          "optimizer.beta2",
                          "optimizer.epsilon",
                          "optimizer.weight_decay",
                          "optimizer.clip_norm",
                          "learning_rate.peak",
                          "learning_rate.warmup_steps",
                          "learning_rate.decay_steps",
                          "learning_rate.minimum",
                          "learning_rate.schedule",
                          "evaluation.every_steps",
                          "evaluation.sequences",
                          "checkpoint.every_steps",
                          "checkpoint.every_minutes",
                          "checkpoint.failures_per_day",
                          "checkpoint.keep",
                          "checkpoint.keep_every_steps",
                          "checkpoint.asynchronous",
                          "checkpoint.ranks_per_file",
                          "walltime.limit_minutes",
                          "walltime.margin_seconds",
                          "walltime.left_command",
                          "metrics.every_steps",
                          "metrics.rows",
                          "metrics.trace_steps",
                          "comm.backend"}) {
    EXPECT_NE(find_option(key), nullptr) << key;
  }
}

TEST(ResolvedDeck, ReadsBackToTheSameBits) {
  const Deck deck =
      deck_of("dropout = 0.1\nnorm = \"rmsnorm\"\nbias = \"qkv\"\nrotary_base = 1e-300\n",
              {"run.name=\"a \\\"b\\\" \\\\ \\t\\u007F é\"", "learning_rate.peak=0.30000000000000004", "model.vocab=97",
               "data.train=['a.h5', 'b.h5']", "data.weights=[0.1, 3]", "run.seed=9223372036854775807",
               "optimizer.epsilon=5e-324", "numerics.grid_invariant=true"});
  const std::string text = to_toml(deck);
  const Deck again = parse_deck(text, "resolved.toml", {});
  EXPECT_TRUE(compare_for_resume(deck, again).empty());
  EXPECT_EQ(to_toml(again), text);
  EXPECT_EQ(again.run.name, "a \"b\" \\ \t\x7f é");
  EXPECT_EQ(again.learning_rate.peak, 0.30000000000000004);
  EXPECT_EQ(again.optimizer.epsilon, 5e-324);
  EXPECT_EQ(again.run.seed, 9223372036854775807U);
}

TEST(ResolvedDeck, HoldsEveryOption) {
  const std::string text = to_toml(deck_of());
  for (const std::string& key : all_keys())
    EXPECT_THAT(text, HasSubstr(fmt::format("\n{} = ", find_option(key)->name())));
}

TEST(ReferencePage, HoldsEveryOption) {
  const std::string page = reference_page();
  for (const std::string& key : all_keys()) EXPECT_THAT(page, HasSubstr(fmt::format("| `{}` | ", key)));
  EXPECT_THAT(page, HasSubstr("| `model.dropout` | number |  | `0.0` | `0 <= x < 1` | "));
  EXPECT_THAT(page, HasSubstr("| `model.norm` | string |  | `\"layernorm\"` | `\"layernorm\", \"rmsnorm\"` | "));
}

TEST(Help, ShowsASectionOrAnOption) {
  EXPECT_THAT(help_of("batch"), HasSubstr("batch.global"));
  EXPECT_THAT(help_of("batch.micro"), testing::Not(HasSubstr("batch.global\n")));
  EXPECT_THAT(help_of("precision"), HasSubstr("\"fp32\", \"bf16\", \"fp16\""));
  EXPECT_THAT(help_of("checkpoint.asynchronous"), HasSubstr("Only false for now: this version"));
}

TEST(Help, NamesTheSectionsForAnUnknownOne) {
  try {
    static_cast<void>(help_of("modle"));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("`modle` is no section of a deck (there are run, model, data"));
    EXPECT_THAT(error.what(), testing::EndsWith("did you mean `model`?"));
  }
}

TEST(Resume, RefusesWhatChangesTheModel) {
  const Deck stored = deck_of("vocab = 96\n");
  for (const char* word : {"model.width=48", "model.layers=3", "model.vocab=97", "model.heads=8",
                           "model.activation=gelu", "model.norm_epsilon=1e-6", "model.tied_embeddings=false",
                           "model.position=rotary", "model.norm=rmsnorm", "model.kv_heads=2", "model.head_width=4",
                           "model.mlp_width=64", "model.context=32", "model.bias=qkv", "model.rotary_base=500.0"}) {
    const std::vector<Difference> differences = compare_for_resume(stored, deck_of("vocab = 96\n", {word}));
    const std::string key = std::string(word).substr(0, std::string(word).find('='));
    ASSERT_FALSE(differences.empty()) << word;
    EXPECT_TRUE(std::any_of(differences.begin(), differences.end(), [&](const Difference& difference) {
      return difference.key == key && difference.refused;
    })) << word;
  }
}

TEST(Resume, ListsWhatMayChangeWithBothValues) {
  const std::vector<Difference> differences =
      compare_for_resume(deck_of(), deck_of("", {"model.dropout=0.1", "learning_rate.peak=1e-3", "metrics.rows=true"}));
  ASSERT_EQ(differences.size(), 3U);
  EXPECT_EQ(differences[0].key, "model.dropout");
  EXPECT_EQ(differences[0].stored, "0.0");
  EXPECT_EQ(differences[0].given, "0.1");
  for (const Difference& difference : differences) EXPECT_FALSE(difference.refused) << difference.key;
}

TEST(Resume, LeavesTheGridAndHowItComputesFree) {
  const std::vector<std::string> words = {"grid.data=2",
                                          "grid.tensor=2",
                                          "grid.pipeline=2",
                                          "pipeline.schedule=interleaved",
                                          "pipeline.chunks=1",
                                          "sharding.zero_stage=3",
                                          "sharding.group=2",
                                          "pipeline.layers_per_stage=[1, 1]",
                                          "recompute.mode=full",
                                          "recompute.layers=[0]",
                                          "numerics.tensor_slices=4",
                                          "numerics.data_lanes=4",
                                          "metrics.trace_steps=1",
                                          "numerics.grid_invariant=true"};
  const std::vector<Difference> differences = compare_for_resume(deck_of("", {"batch.micro=1"}), deck_of("", [&] {
                                                                   std::vector<std::string> all = words;
                                                                   all.emplace_back("batch.micro=1");
                                                                   return all;
                                                                 }()));
  EXPECT_EQ(differences.size(), words.size() - 1);  // one part a stage is the default
  for (const Difference& difference : differences) EXPECT_FALSE(difference.refused) << difference.key;
}

TEST(Resume, SeesAGivenSizeThatEqualsTheResolvedOneAsNoChange) {
  EXPECT_TRUE(compare_for_resume(deck_of(), deck_of("kv_heads = 4\nmlp_width = 128\nhead_width = 8\n")).empty());
}

}  // namespace
}  // namespace trireme::config
