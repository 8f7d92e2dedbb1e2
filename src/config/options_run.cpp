#include "config/options.hpp"

namespace trireme::config {

std::vector<Section> run_sections() {
  using R = RunOptions;
  const auto at = [](auto member) { return place(&Deck::run, member); };
  return {
      {"run",
       "What is run, and where its files go.",
       {
           {.key = "run.name",
            .place = at(&R::name),
            .sentence = "A name for people, in the log and in the metrics.",
            .owner = "train"},
           {.key = "run.output",
            .place = at(&R::output),
            .unit = "path",
            .sentence = "The run folder: resolved deck, log, metrics, checkpoints and lock are kept in it.",
            .owner = "train",
            .required = true},
           {.key = "run.steps",
            .place = at(&R::steps),
            .unit = "updates",
            .range = at_least(0, 1e12),
            .sentence = "Updates in all; a finished run goes on when this is made larger.",
            .owner = "train",
            .required = true},
           {.key = "run.seed",
            .place = at(&R::seed),
            .range = at_least(0),
            .sentence = "Key of first weights, dropout and sample order.",
            .owner = "train"},
           {.key = "run.resume",
            .place = at(&R::resume),
            .unit = "path",
            .sentence = "`auto` goes on from the newest sound checkpoint of the run folder, or starts; `never` starts "
                        "and refuses a folder that holds a run; anything else is the path of a checkpoint.",
            .owner = "train"},
       }}};
}

}  // namespace trireme::config
