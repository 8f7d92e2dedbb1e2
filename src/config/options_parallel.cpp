#include "config/options.hpp"

namespace trireme::config {
namespace {

const char* const data_axis_only = "this version trains on the data axis only";

Section grid_section() {
  using G = comm::GridOptions;
  const auto at = [](auto member) { return place(&Deck::grid, member); };
  return {"grid",
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
               .only = {std::int64_t{1}},
               .why_only = data_axis_only,
               .sentence = "Ranks along the tensor axis.",
               .owner = "comm"},
              {.key = "grid.pipeline",
               .place = at(&G::pipeline),
               .unit = "ranks",
               .range = at_least(0, 1 << 24),
               .only = {std::int64_t{1}},
               .why_only = data_axis_only,
               .sentence = "Stages of the pipeline axis.",
               .owner = "comm"},
          }};
}

Section pipeline_section() {
  using P = PipelineOptions;
  return {"pipeline",
          "How the blocks are cut in stages, and in which order stages work.",
          {
              {.key = "pipeline.schedule",
               .place = choice(&Deck::pipeline, &P::schedule,
                               {"naive", "gpipe", "1f1b", "interleaved", "zero_bubble", "zero_bubble_h2"}),
               .only = {std::string("1f1b")},
               .why_only = data_axis_only,
               .sentence = "Order of forward and backward passes.",
               .owner = "pipeline"},
              {.key = "pipeline.chunks",
               .place = place(&Deck::pipeline, &P::chunks),
               .range = at_least(1, 100000),
               .only = {std::int64_t{1}},
               .why_only = data_axis_only,
               .sentence = "Pieces of the model per stage, for `interleaved`.",
               .owner = "pipeline"},
              {.key = "pipeline.layers_per_stage",
               .place = place(&Deck::pipeline, &P::layers_per_stage),
               .unit = "blocks",
               .range = at_least(0, 100000),
               .only = {std::vector<std::int64_t>{}},
               .why_only = data_axis_only,
               .sentence = "Blocks of each stage; empty: balanced.",
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
               .only = {std::int64_t{0}, std::int64_t{1}},
               .why_only = "this version shares out moments only",
               .sentence = "0: nothing; 1: moments; 2: gradients too; 3: weights too.",
               .owner = "optim"},
              {.key = "sharding.group",
               .place = place(&Deck::sharding, &S::group),
               .unit = "ranks",
               .range = at_least(0, 1 << 24),
               .only = {std::int64_t{0}},
               .why_only = "this version shares over the whole data axis",
               .sentence = "Ranks that share one copy; 0: the data axis.",
               .owner = "optim"},
          }};
}

Section recompute_section() {
  using R = RecomputeOptions;
  const char* const keeps_all = "this version keeps all activations";
  return {"recompute",
          "Activations that the backward pass computes again instead of keeping them.",
          {
              {.key = "recompute.mode",
               .place = choice(&Deck::recompute, &R::mode, {"none", "selective", "full"}),
               .only = {std::string("none")},
               .why_only = keeps_all,
               .sentence = "Nothing, the core of attention, or whole blocks.",
               .owner = "model"},
              {.key = "recompute.layers",
               .place = place(&Deck::recompute, &R::layers),
               .unit = "blocks",
               .range = at_least(0, 100000),
               .only = {std::vector<std::int64_t>{}},
               .why_only = keeps_all,
               .sentence = "Numbers of the blocks it applies to; empty: all.",
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
          }};
}

}  // namespace

std::vector<Section> parallel_sections() {
  return {grid_section(), pipeline_section(), sharding_section(), recompute_section(), comm_section()};
}

}  // namespace trireme::config
