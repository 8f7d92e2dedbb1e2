// Values of a wrong type, out of range, or not available; and values of the command line.
#include <gmock/gmock.h>

#include "config/options.hpp"
#include "unit/config/decks.hpp"

namespace trireme::config {
namespace {

using testing::HasSubstr;

TEST(Values, OfAWrongTypeAreShownAsWritten) {
  EXPECT_EQ(problems_after("vocab = 1e3\n"),
            "d.toml:13: model.vocab = 1e3: wrong type (an integer is wanted, this is a float) write 1000");
  EXPECT_EQ(
      problems_after("vocab = \"97\"\n"),
      "d.toml:13: model.vocab = \"97\": wrong type (an integer is wanted, this is a string) write it without quotes");
  EXPECT_EQ(problems_after("norm = 3\n"),
            "d.toml:13: model.norm = 3: wrong type (a string is wanted, this is an integer) write it in quotes");
  EXPECT_EQ(
      problems_after("tied_embeddings = 1\n"),
      "d.toml:13: model.tied_embeddings = 1: wrong type (a boolean is wanted, this is an integer) write true or false");
  EXPECT_EQ(problems_after("[data]\n"),
            "d.toml:13: [data]: not TOML (table header: cannot redefine existing table 'data') "
            "write each section once");
  EXPECT_THAT(problems_after("dropout = 1979-05-27\n"),
              HasSubstr("wrong type (a number is wanted, this is a date or time)"));
  EXPECT_THAT(problems_after("dropout = [0.1]\n"),
              HasSubstr("wrong type (a number is wanted, this is a list of numbers)"));
  EXPECT_THAT(problems_after("dropout = {p = 0.1}\n"), HasSubstr("this is a table"));
}

TEST(Values, OfListsKeepTheirType) {
  const std::string head = smallest.substr(0, smallest.find("[data]"));
  const std::string tail = smallest.substr(smallest.find("[batch]"));
  EXPECT_THAT(
      problems_of(head + "[data]\ntrain = \"a.h5\"\n" + tail),
      HasSubstr("d.toml:5: data.train = \"a.h5\": wrong type (a list of strings is wanted, this is a string) write "
                "[\"a.h5\"]"));
  EXPECT_THAT(problems_of(head + "[data]\ntrain = [\"a\", 3]\n" + tail), HasSubstr("this is a mixed list"));
  EXPECT_THAT(problems_of(head + "[data]\ntrain = []\n" + tail), HasSubstr("empty (paths) give it"));
  EXPECT_THAT(problems_of(head + "[data]\ntrain = [\"\"]\n" + tail), HasSubstr("empty (paths) give it"));
  const Deck deck =
      parse_deck(head + "[data]\ntrain = [\"a\", \"b\"]\nweights = [1, 2]\nvalidation = []\n" + tail, "d", {});
  EXPECT_EQ(deck.data.weights, (std::vector<double>{1, 2}));
}

TEST(Values, OfTextHaveNoZeroByte) {
  EXPECT_THAT(problems_after("", {"run.output=\"a\\u0000b\""}), HasSubstr("holds a zero byte"));
  EXPECT_THAT(problems_after("", {"data.train=[\"a\", \"b\\u0000\"]"}), HasSubstr("holds a zero byte"));
}

TEST(Values, OutOfRangeNameTheBound) {
  EXPECT_EQ(problems_after("dropout = 1.0\n"), "d.toml:13: model.dropout = 1.0: out of range (must be < 1)");
  EXPECT_EQ(problems_after("dropout = -0.1\n"), "d.toml:13: model.dropout = -0.1: out of range (must be >= 0)");
  EXPECT_EQ(problems_after("norm_epsilon = 0\n"), "d.toml:13: model.norm_epsilon = 0: out of range (must be > 0)");
  EXPECT_THAT(problems_after("[checkpoint]\nkeep = 0\n"),
              HasSubstr("d.toml:14: checkpoint.keep = 0: out of range (must be >= 1)"));
  EXPECT_THAT(problems_after("", {"run.steps=-1"}),
              HasSubstr("command line: run.steps = -1: out of range (must be >= 0)"));
  EXPECT_THAT(problems_after("vocab = 9223372036854775807\n"), HasSubstr("out of range (must be <= 2147483647)"));
  EXPECT_THAT(problems_after("vocab = 9223372036854775808\n"), HasSubstr("not TOML"));
  EXPECT_THAT(problems_after("[grid]\ndata = -2\n"), HasSubstr("grid.data = -2: out of range (must be >= 0)"));
}

TEST(Values, MustBeFinite) {
  EXPECT_EQ(problems_after("dropout = nan\n"),
            "d.toml:13: model.dropout = nan: not finite (NaN and infinity are no settings) give a number");
  EXPECT_THAT(problems_after("[optimizer]\nclip_norm = inf\n"), HasSubstr("not finite"));
}

TEST(Values, OfAChoiceNameAllAndTheNearest) {
  EXPECT_EQ(
      problems_after("norm = \"rmsnrom\"\n"),
      "d.toml:13: model.norm = \"rmsnrom\": no such choice (must be one of \"layernorm\", \"rmsnorm\") did you mean "
      "\"rmsnorm\"?");
  EXPECT_THAT(problems_after("bias = \"some\"\n"), HasSubstr("no such choice (must be one of true, false, \"qkv\")"));
}

TEST(Values, OfBiasAreBooleansOrOneWord) {
  EXPECT_EQ(deck_of().model.bias, model::Bias::all);
  EXPECT_EQ(deck_of("bias = false\n").model.bias, model::Bias::none);
  EXPECT_EQ(deck_of("bias = \"qkv\"\n").model.bias, model::Bias::qkv);
  EXPECT_EQ(deck_of("", {"model.bias=qkv"}).model.bias, model::Bias::qkv);
  EXPECT_EQ(deck_of("", {"model.bias=false"}).model.bias, model::Bias::none);
}

TEST(Values, ThatThisVersionLacksAreRefusedByName) {
  EXPECT_THAT(problems_after("[checkpoint]\nasynchronous = true\n"),
              HasSubstr("d.toml:14: checkpoint.asynchronous = true: not available (this version"));
  const std::vector<std::string> refused = {"checkpoint.asynchronous=true", "comm.backend=nccl", "comm.backend=staged"};
  for (const std::string& word : refused) {
    EXPECT_THAT(problems_after("", {word}), HasSubstr("not available (this version")) << word;
  }
}

TEST(Values, OfTheLossScaleArePowersOfTwo) {
  EXPECT_EQ(problems_after("", {"precision.loss_scale_initial=1024"}), "");
  EXPECT_THAT(
      problems_after("", {"precision.loss_scale_initial=3"}),
      HasSubstr("precision.loss_scale_initial = 3.0: is no power of two (only those scale without rounding) use "
                "2 or 4"));
  EXPECT_THAT(problems_after("", {"precision.loss_scale_initial=0.5"}), HasSubstr("out of range"));
}

TEST(Values, ThatAreNeutralAreAcceptedEvenIfTheirFeatureIsNotThere) {
  EXPECT_EQ(problems_after("", {"grid.tensor=1", "pipeline.schedule=1f1b", "sharding.zero_stage=0",
                                "recompute.mode=none", "numerics.trace=false", "comm.backend=mpi",
                                "pipeline.layers_per_stage=[]", "numerics.on_nonfinite=skip"}),
            "");
}

TEST(Values, OfTheGridAreAcceptedOnEveryAxis) {
  const Deck deck = deck_of(
      "", {"grid.data=2", "grid.tensor=2", "grid.pipeline=2", "pipeline.schedule=zero_bubble_h2",
           "pipeline.layers_per_stage=[2, 0]", "sharding.zero_stage=3", "sharding.group=2", "recompute.mode=selective",
           "recompute.layers=[1]", "numerics.tensor_slices=4", "metrics.trace_steps=3"});
  EXPECT_EQ(deck.grid.tensor, 2);
  EXPECT_EQ(deck.grid.pipeline, 2);
  EXPECT_EQ(deck.pipeline.schedule, "zero_bubble_h2");
  EXPECT_EQ(deck.pipeline.layers_per_stage, (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(deck.sharding.zero_stage, 3);
  EXPECT_EQ(deck.sharding.group, 2);
  EXPECT_EQ(deck.recompute.mode, model::Recompute::selective);
  EXPECT_EQ(deck.recompute.layers, std::vector<std::int64_t>{1});
  EXPECT_EQ(deck.numerics.tensor_slices, 4);
  EXPECT_EQ(deck.metrics.trace_steps, 3);
  for (const char* schedule : {"naive", "gpipe", "1f1b", "interleaved", "zero_bubble", "zero_bubble_h2"}) {
    EXPECT_EQ(deck_of("", {std::string("pipeline.schedule=") + schedule}).pipeline.schedule, schedule);
  }
  EXPECT_EQ(deck_of("", {"recompute.mode=full"}).recompute.mode, model::Recompute::full);
}

TEST(CommandLine, ReplacesTheDeckAndIsNotCheckedTwice) {
  const Deck deck = deck_of("dropout = 7\n", {"model.dropout=0.5", "run.steps = 20", "data.train=[\"b.h5\", 'c.h5']"});
  EXPECT_EQ(deck.model.dropout, 0.5);
  EXPECT_EQ(deck.run.steps, 20);
  EXPECT_EQ(deck.data.train, (std::vector<std::string>{"b.h5", "c.h5"}));
}

TEST(CommandLine, TakesBareWordsForStringsOnly) {
  const Deck deck = deck_of("", {"run.resume=never", "run.name=2024", "run.output=runs/b=c", "model.norm=rmsnorm"});
  EXPECT_EQ(deck.run.resume, "never");
  EXPECT_EQ(deck.run.name, "2024");
  EXPECT_EQ(deck.run.output, "runs/b=c");
  EXPECT_EQ(deck.model.norm, model::Norm::rmsnorm);
  EXPECT_EQ(deck_of("", {"run.name='a b'"}).run.name, "a b");
  EXPECT_EQ(problems_after("", {"data.train=a.h5"}),
            "command line: data.train = a.h5: wrong type (a list of strings is wanted, this is a bare word) write "
            "'data.train=[\"a\", \"b\"]', the shell takes away quotes that are not within others");
  EXPECT_THAT(problems_after("", {"run.name=\"a"}), HasSubstr("this is a bare word"));
  EXPECT_THAT(problems_after("", {"run.name=\xff"}), HasSubstr("this is a bare word"));
  EXPECT_THAT(problems_after("", {"model.width=wide"}), HasSubstr("an integer is wanted, this is a bare word"));
}

TEST(Values, OfANumberMayBeAWordThatStandsForIt) {
  const Deck deck = deck_of("[checkpoint]\nevery_minutes = \"auto\"\nranks_per_file = \"node\"\n");
  EXPECT_EQ(deck.checkpoint.every_minutes, checkpoint::automatic_minutes);
  EXPECT_EQ(deck.checkpoint.ranks_per_file, checkpoint::ranks_of_a_node);
  EXPECT_THAT(to_toml(deck), AllOf(HasSubstr("every_minutes = \"auto\"\n"), HasSubstr("ranks_per_file = \"node\"\n")));
  const auto checkpoint_of = [](const std::string& word) { return deck_of("", {"checkpoint." + word}).checkpoint; };
  EXPECT_EQ(checkpoint_of("every_minutes=auto").every_minutes, checkpoint::automatic_minutes);
  EXPECT_EQ(checkpoint_of("every_minutes=2").every_minutes, 2);
  EXPECT_EQ(checkpoint_of("every_minutes=0.5").every_minutes, 0.5);
  EXPECT_EQ(checkpoint_of("ranks_per_file=4").ranks_per_file, 4);
  EXPECT_THAT(problems_after("", {"checkpoint.every_minutes=never"}), HasSubstr("must be one of >= 0, \"auto\""));
  EXPECT_THAT(problems_after("", {"checkpoint.every_minutes=-1"}), HasSubstr("out of range (must be >= 0)"));
  EXPECT_THAT(problems_after("", {"checkpoint.ranks_per_file=0.5"}), HasSubstr("an integer or a string is wanted"));
  EXPECT_THAT(problems_after("", {"checkpoint.ranks_per_file=-1"}), HasSubstr("out of range (must be >= 1)"));
}

TEST(CommandLine, CannotSmuggleFurtherKeys) {
  EXPECT_THAT(problems_after("", {"run.steps=3\nx=1"}), HasSubstr("wrong type"));
}

TEST(CommandLine, RepeatedAndMalformedWordsAreRefused) {
  EXPECT_EQ(problems_after("", {"run.steps=3", "run.steps=4", "steps", "=3", "run.=3", "seed=3", "model.seed=3"}),
            "command line: run.steps = 4: repeated key (the command line also has `3`) keep one of them\n"
            "command line: steps: no override (it must be `section.key=value`) write e.g. `run.steps=100`\n"
            "command line: =3: no override (it must be `section.key=value`) write e.g. `run.steps=100`\n"
            "command line: run.=3: no override (it must be `section.key=value`) write e.g. `run.steps=100`\n"
            "command line: seed = 3: misplaced key (it stands in no section) write it under [run]\n"
            "command line: model.seed = 3: misplaced key (`seed` belongs to `run`) write it under [run]");
}

}  // namespace
}  // namespace trireme::config
