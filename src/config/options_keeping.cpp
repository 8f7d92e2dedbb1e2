#include "config/options.hpp"

namespace trireme::config {
namespace {

Section evaluation_section() {
  using E = EvaluationOptions;
  return {"evaluation",
          "The validation loss; it leaves no trace in training.",
          {
              {.key = "evaluation.every_steps",
               .place = place(&Deck::evaluation, &E::every_steps),
               .unit = "updates",
               .range = at_least(0, 1e12),
               .sentence = "Updates between evaluations, the last update has one too; needs `data.validation`. 0: off.",
               .owner = "train"},
              {.key = "evaluation.sequences",
               .place = place(&Deck::evaluation, &E::sequences),
               .unit = "sequences",
               .range = at_least(0, 1e12),
               .sentence = "Sequences evaluated, always the first ones; 0: all.",
               .owner = "train"},
          }};
}

Section checkpoint_section() {
  using C = checkpoint::CheckpointOptions;
  const auto at = [](auto member) { return place(&Deck::checkpoint, member); };
  return {"checkpoint",
          "When checkpoints are saved and which are kept. A finished run always saves a last one.",
          {
              {.key = "checkpoint.every_steps",
               .place = at(&C::every_steps),
               .unit = "updates",
               .range = at_least(0, 1e12),
               .sentence = "Updates between saves; 0: at no fixed step.",
               .owner = "checkpoint"},
              {.key = "checkpoint.every_minutes",
               .place = or_word(at(&C::every_minutes), "auto", checkpoint::automatic_minutes),
               .unit = "minutes",
               .range = at_least(0),
               .sentence = "Time between saves; 0: off. `auto`: sqrt(2 x a save's time x mean time between "
                           "failures) (Young 1974), from saves that were timed and `checkpoint.failures_per_day`.",
               .owner = "checkpoint"},
              {.key = "checkpoint.failures_per_day",
               .place = at(&C::failures_per_day),
               .unit = "failures a day",
               .range = at_least(0),
               .sentence = "How often the whole job fails, for `auto` minutes. 0: estimated from a published rate "
                           "per host and the earlier attempts of the run.",
               .owner = "checkpoint"},
              {.key = "checkpoint.keep",
               .place = at(&C::keep),
               .unit = "checkpoints",
               .range = at_least(1, 1e12),
               .sentence = "Newest checkpoints that are kept; older ones are removed after a new one is committed.",
               .owner = "checkpoint"},
              {.key = "checkpoint.keep_every_steps",
               .place = at(&C::keep_every_steps),
               .unit = "updates",
               .range = at_least(0, 1e12),
               .sentence = "Checkpoints of steps divisible by it are kept for good; 0: none.",
               .owner = "checkpoint"},
              {.key = "checkpoint.asynchronous",
               .place = at(&C::asynchronous),
               .only = {false},
               .why_only = "this version waits for its saves",
               .sentence = "Training goes on while a checkpoint is written.",
               .owner = "checkpoint"},
              {.key = "checkpoint.ranks_per_file",
               .place = or_word(at(&C::ranks_per_file), "node", checkpoint::ranks_of_a_node),
               .unit = "ranks",
               .range = at_least(1, 1 << 24),
               .sentence = "Ranks whose pieces share one file; `node`: the ranks of a host.",
               .owner = "checkpoint"},
          }};
}

Section walltime_section() {
  using W = WalltimeOptions;
  return {
      "walltime",
      "The run stops itself in time, at a committed checkpoint.",
      {
          {.key = "walltime.limit_minutes",
           .place = place(&Deck::walltime, &W::limit_minutes),
           .unit = "minutes",
           .range = at_least(0),
           .sentence = "Time from the start of the process; 0: none. What the batch system says holds besides.",
           .owner = "train"},
          {.key = "walltime.margin_seconds",
           .place = place(&Deck::walltime, &W::margin_seconds),
           .unit = "seconds",
           .range = at_least(0),
           .sentence = "Kept free before the limit, besides the time of a step, an evaluation and a save.",
           .owner = "train"},
          {.key = "walltime.left_command",
           .place = place(&Deck::walltime, &W::left_command),
           .sentence = "Command of the shell that prints how many seconds the job has left, asked once by rank 0 at "
                       "the start. Slurm needs none: `SLURM_JOB_END_TIME` is taken, or `squeue` is asked.",
           .owner = "train"},
      }};
}

Section metrics_section() {
  using M = MetricsOptions;
  return {"metrics",
          "`metrics.jsonl` in the run folder.",
          {
              {.key = "metrics.every_steps",
               .place = place(&Deck::metrics, &M::every_steps),
               .unit = "updates",
               .range = at_least(1, 1e12),
               .sentence = "Updates between lines; the last update has one too.",
               .owner = "train"},
              {.key = "metrics.rows",
               .place = place(&Deck::metrics, &M::rows),
               .sentence = "Record the numbers of the samples of each update.",
               .owner = "train"},
              {.key = "metrics.trace_steps",
               .place = place(&Deck::metrics, &M::trace_steps),
               .unit = "updates",
               .range = at_least(0, 1000),
               .sentence = "First updates of an attempt whose timeline is recorded as a Chrome trace; 0: none.",
               .owner = "train"},
          }};
}

}  // namespace

std::vector<Section> keeping_sections() {
  return {evaluation_section(), checkpoint_section(), walltime_section(), metrics_section()};
}

}  // namespace trireme::config
