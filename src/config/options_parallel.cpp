#include "config/options.hpp"

namespace trireme::config {
namespace {

Section grid_section() {
  using G = comm::GridOptions;
  const auto at = [](auto member) { return place(&Deck::grid, member); };
  return {
      "grid",
      "The process grid; its product is the number of ranks.",
      {
          {.key = "grid.data",
           .place = at(&G::data),
           .unit = "ranks",
           .range = at_least(0, 1 << 24),
           .sentence = "Ranks along the data axis, each with its share of the micro-batches. 0: all that are left.",
           .owner = "comm"},
          {.key = "grid.tensor",
           .place = at(&G::tensor),
           .unit = "ranks",
           .range = at_least(0, 1 << 24),
           .sentence = "Ranks along the tensor axis, among which heads, MLP and vocabulary are split; neighbours in "
                       "rank number. 0: all that are left.",
           .owner = "comm"},
          {.key = "grid.pipeline",
           .place = at(&G::pipeline),
           .unit = "ranks",
           .range = at_least(0, 1 << 24),
           .sentence = "Stages of the pipeline axis, each with a part of the blocks. 0: all that are left.",
           .owner = "comm"},
      }};
}

Section pipeline_section() {
  using P = PipelineOptions;
  return {
      "pipeline",
      "How the blocks are cut in stages, and in which order stages work.",
      {
          {.key = "pipeline.schedule",
           .place = choice(&Deck::pipeline, &P::schedule,
                           {"naive", "gpipe", "1f1b", "interleaved", "zero_bubble", "zero_bubble_h2"}),
           .sentence = "Order of forward and backward passes; changes time and memory, never results. One stage runs "
                       "plain whatever is chosen; `interleaved` with one chunk is `1f1b`.",
           .owner = "pipeline"},
          {.key = "pipeline.chunks",
           .place = place(&Deck::pipeline, &P::chunks),
           .range = at_least(1, 100000),
           .sentence = "Parts of the model a stage has, above 1 for `interleaved` only: part c of stage s is number "
                       "c * stages + s of the model. One stage is one part whatever is given.",
           .owner = "pipeline"},
          {.key = "pipeline.layers_per_stage",
           .place = place(&Deck::pipeline, &P::layers_per_stage),
           .unit = "blocks",
           .range = at_least(0, 100000),
           .sentence =
               "Blocks of each stage (of each part, in the order of the model, with several chunks), "
               "`model.layers` in all; 0 is legal at the first and the last, which have embedding and "
               "head. Empty: balanced by operations, at least one each. One stage has all blocks whatever is given.",
           .owner = "pipeline"},
      }};
}

Section sharding_section() {
  using S = optim::ShardingOptions;
  return {"sharding",
          "What the data ranks share out instead of each holding a copy (ZeRO).",
          {
              {.key = "sharding.zero_stage",
               .place = place(&Deck::sharding, &S::zero_stage),
               .range = at_least(0, 3),
               .sentence = "0: nothing; 1: moments; 2: gradients too; 3: weights too.",
               .owner = "optim"},
              {.key = "sharding.group",
               .place = place(&Deck::sharding, &S::group),
               .unit = "ranks",
               .range = at_least(0, 1 << 24),
               .sentence = "Ranks of the data axis that share one copy; must divide the axis, and needs "
                           "`sharding.zero_stage` of 1 to 3. 0: the whole axis.",
               .owner = "optim"},
          }};
}

Section recompute_section() {
  using R = model::RecomputeOptions;
  return {"recompute",
          "Activations that the backward pass computes again instead of keeping them.",
          {
              {.key = "recompute.mode",
               .place = choice(&Deck::recompute, &R::mode, {"none", "selective", "full"}),
               .sentence = "Nothing, the core of attention, or whole blocks; changes time and memory, never results.",
               .owner = "model"},
              {.key = "recompute.layers",
               .place = place(&Deck::recompute, &R::layers),
               .unit = "blocks",
               .range = at_least(0, 100000),
               .sentence = "Numbers of the blocks that `recompute.mode` applies to, from 0; empty: all.",
               .owner = "model"},
          }};
}

Section comm_section() {
  return {"comm",
          "Communication.",
          {
              {.key = "comm.backend",
               .place = choice(&Deck::comm, &CommOptions::backend, {"auto", "mpi", "nccl", "staged"}),
               .only = {std::string("auto"), std::string("mpi")},
               .why_only = "this version communicates by MPI",
               .sentence = "Library that carries tensors between ranks.",
               .owner = "comm"},
              {.key = "comm.overlap",
               .place = place(&Deck::comm, &CommOptions::overlap),
               .sentence = "Gradients are reduced beneath the backward pass; false shows what that hides.",
               .owner = "optim"},
          }};
}

}  // namespace

std::vector<Section> parallel_sections() {
  return {grid_section(), pipeline_section(), sharding_section(), recompute_section(), comm_section()};
}

}  // namespace trireme::config
