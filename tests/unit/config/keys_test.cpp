// Keys that are unknown, misplaced, repeated or missing.
#include <gmock/gmock.h>

#include "unit/config/decks.hpp"

namespace trireme::config {
namespace {

using testing::HasSubstr;

TEST(Keys, OfTheSmallestDeckAreEnough) {
  const Deck deck = deck_of();
  EXPECT_EQ(deck.run.steps, 10);
  EXPECT_EQ(deck.data.train, std::vector<std::string>{"a.h5"});
}

TEST(Keys, ThatAreMisspeltGetTheNearestNameOfTheirSection) {
  EXPECT_EQ(
      problems_after("kv_haeds = 2\n"),
      "d.toml:13: model.kv_haeds = 2: unknown key (section `model` has no such option) did you mean `model.kv_heads`?");
}

TEST(Keys, ThatAreMisspeltInTheWrongSectionGetTheNearestNameOfAll) {
  EXPECT_EQ(problems_after("wamup_steps = 2\n"),
            "d.toml:13: model.wamup_steps = 2: unknown key (section `model` has no such option) did you mean "
            "`learning_rate.warmup_steps`?");
}

TEST(Keys, OfAnotherSectionAreToldWhereTheyBelong) {
  EXPECT_EQ(
      problems_after("peak = 1e-3  # too high?\n"),
      "d.toml:13: model.peak = 1e-3: misplaced key (`peak` belongs to `learning_rate`) write it under [learning_rate]");
}

TEST(Keys, OfSeveralSectionsAreToldAllOfThem) {
  EXPECT_THAT(
      problems_after("every_steps = 5\n"),
      HasSubstr("(`every_steps` belongs to `evaluation` and `checkpoint` and `metrics`) write it under [evaluation]"));
}

TEST(Keys, BeforeAnySectionAreMisplaced) {
  EXPECT_EQ(problems_of("seed = 3\nmetrics = 4\nfoo = 1\n" + smallest),
            "d.toml:1: seed = 3: misplaced key (it stands in no section) write it under [run]\n"
            "d.toml:2: metrics = 4: misplaced key (it is the name of a section) write [metrics] and its options below\n"
            "d.toml:3: foo = 1: unknown key (it stands in no section) write it under its [section]");
}

TEST(Keys, OfAnUnknownSectionNameIt) {
  EXPECT_EQ(
      problems_after("[lerning_rate]\npaek = 1e-3\n[zzzzzz]\nq = 1\n[evalation]\n"),
      "d.toml:14: lerning_rate.paek = 1e-3: unknown key (there is no section `lerning_rate`) did you mean "
      "`learning_rate.peak`?\n"
      "d.toml:16: zzzzzz.q = 1: unknown key (there is no section `zzzzzz`) there are run, model, data, batch, grid, "
      "pipeline, sharding, recompute, comm, precision, numerics, optimizer, learning_rate, evaluation, checkpoint, "
      "walltime, "
      "metrics\n"
      "d.toml:17: [evalation]: unknown section (no option is in it) did you mean [evaluation]?");
}

TEST(Keys, InASubsectionAreUnknown) {
  EXPECT_THAT(problems_after("[model.attention]\nheads = 3\n"), HasSubstr("model.attention = "));
}

TEST(Keys, GivenTwiceAreRefusedWithBothLines) {
  EXPECT_EQ(problems_after("width = 48  # second thoughts\n"),
            "d.toml:13: model.width = 48: repeated key (first given on line 10) keep one of them");
}

TEST(Keys, GivenTwiceDoNotHideOtherProblems) {
  EXPECT_EQ(problems_after("width = 48\ncolour = 1\nheads = 2\n"),
            "d.toml:13: model.width = 48: repeated key (first given on line 10) keep one of them\n"
            "d.toml:14: model.colour = 1: unknown key (section `model` has no such option) see `trireme help model`\n"
            "d.toml:15: model.heads = 2: repeated key (first given on line 11) keep one of them");
}

TEST(Keys, GivenTwiceOverSeveralLinesAreOneProblem) {
  EXPECT_THAT(problems_of("[data]\ntrain = [\n\"a\"]\ntrain = [\"b\",\n\"c\"]\n"),
              testing::StartsWith("d.toml:4: data.train = [\"b\",: repeated key"));
}

TEST(Keys, OfASectionGivenTwiceAreRefused) {
  EXPECT_EQ(
      problems_after("[model]\nvocab = 3\n"),
      "d.toml:13: [model]: not TOML (table header: cannot redefine existing table 'model') write each section once");
}

TEST(Keys, ThatMustBeGivenAreAllNamed) {
  const std::string problems = problems_of("[model]\nlayers = 2\n");
  for (const char* key :
       {"run.output", "run.steps", "model.width", "model.heads", "model.context", "data.train", "batch.global"}) {
    EXPECT_THAT(problems, HasSubstr(std::string("d.toml: ") + key + ": missing (it has no default)"));
  }
  EXPECT_THAT(problems, testing::Not(HasSubstr("model.layers: missing")));
}

TEST(Keys, OfAnEmptyDeckAreMissed) {
  for (const char* text : {"", "\n\n", "# nothing here\n"}) {
    EXPECT_THAT(problems_of(text), testing::StartsWith("d.toml: the deck is empty (no option stands in it)"));
  }
}

TEST(Keys, MayBeDotted) {
  EXPECT_EQ(parse_deck("model.vocab = 7\n" + smallest.substr(0, smallest.find("[model]")), "d",
                       {"model.layers=1", "model.width=2", "model.heads=1", "model.context=3"})
                .model.vocab,
            7);
}

TEST(Text, ThatIsNoTomlIsShownWithItsLine) {
  EXPECT_EQ(
      problems_after("norm = rmsnorm\n"),
      "d.toml:13: norm = rmsnorm: not TOML (value: could not determine value type) words need quotes: key = \"word\"");
  EXPECT_EQ(problems_after("norm\n"),
            "d.toml:13: norm: not TOML (key-value pair: expected '=', saw '\\n') write `key = value`");
}

TEST(Text, WithForeignBytesIsRefused) {
  EXPECT_THAT(problems_after("# \xc3\x28\n"), HasSubstr("utf-8"));
  EXPECT_THAT(problems_of(std::string("\0\0\0", 3)), HasSubstr("d.toml:1: "));
}

TEST(Text, WithWindowsLineEndsIsRead) {
  EXPECT_THAT(problems_of("[run]\r\nsteps = \"3\"\r\n"), HasSubstr("d.toml:2: run.steps = \"3\": wrong type"));
}

TEST(Text, BeforeAValueMayHoldAnyLetters) {
  EXPECT_THAT(problems_of("[run]\nname = 3 # \xc3\xa9\noutput = [\"\xc3\xa9\xc3\xa9\"] # c\n"),
              HasSubstr("d.toml:3: run.output = [\"\xc3\xa9\xc3\xa9\"]: wrong type"));
}

TEST(File, ThatIsNotThereOrIsAFolderIsRefused) {
  EXPECT_THROW(static_cast<void>(read_deck("no/such/deck.toml", {})), InputError);
  EXPECT_THROW(static_cast<void>(read_deck("/", {})), InputError);
}

}  // namespace
}  // namespace trireme::config
