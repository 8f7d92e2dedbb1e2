#include "config/options.hpp"

namespace trireme::config {
namespace {

Section precision_section() {
  using P = PrecisionOptions;
  return {"precision",
          "Number formats.",
          {
              {.key = "precision.compute",
               .place = choice(&Deck::precision, &P::compute, {"fp32", "bf16", "fp16"}),
               .sentence = "Format of activations and of the matrices used by forward and backward; master weights, "
                           "moments, gradients, norms and biases are fp32.",
               .owner = "model"},
              {.key = "precision.loss_scale_initial",
               .place = place(&Deck::precision, &P::loss_scale_initial),
               .range = at_least(1, 1 << 24),
               .sentence = "First loss scale of fp16, a power of two; it halves where a gradient overflows.",
               .owner = "optim"},
              {.key = "precision.loss_scale_window",
               .place = place(&Deck::precision, &P::loss_scale_window),
               .unit = "updates",
               .range = at_least(1, 1e12),
               .sentence = "Updates without overflow after which the loss scale of fp16 doubles.",
               .owner = "optim"},
          }};
}

Section numerics_section() {
  using N = NumericsOptions;
  const auto at = [](auto member) { return place(&Deck::numerics, member); };
  return {
      "numerics",
      "The order of sums, and what watches over the numbers.",
      {
          {.key = "numerics.grid_invariant",
           .place = at(&N::grid_invariant),
           .sentence = "Loss, gradient norm, weights and moments have the same bits on every grid.",
           .owner = "optim"},
          {.key = "numerics.data_lanes",
           .place = at(&N::data_lanes),
           .unit = "lanes",
           .range = at_least(0, 1 << 24),
           .sentence =
               "Groups of micro-batches whose gradients are added in a tree; a power of two that divides "
               "`batch.global` / `batch.micro`. 0: the largest up to 8 when grid-invariant, else the data axis.",
           .owner = "optim"},
          {.key = "numerics.tensor_slices",
           .place = at(&N::tensor_slices),
           .unit = "slices",
           .range = at_least(0, 1 << 24),
           .sentence = "Slices in which the tensor axis is computed: a power of two, a multiple of `grid.tensor`, "
                       "that divides `model.heads` and `model.mlp_width`, and divides `model.kv_heads` or is a "
                       "multiple of it. 0: the largest up to 8 when grid-invariant, else the tensor axis.",
           .owner = "layers"},
          {.key = "numerics.isa",
           .place = choice(&Deck::numerics, &N::isa, {"auto", "generic", "avx2", "avx512", "avx512_bf16", "amx"}),
           .sentence = "Highest instruction set used; `auto`: the fastest that all ranks have. The last two differ "
                       "from `avx512` in bf16 only: `avx512_bf16` in products, which Intel's processors without AMX "
                       "make faster without it, `amx` in products and attention.",
           .owner = "device"},
          {.key = "numerics.audit_steps",
           .place = at(&N::audit_steps),
           .unit = "updates",
           .range = at_least(0, 1e12),
           .sentence = "Updates between comparisons of all that several ranks must hold alike, also made before "
                       "each save: a mismatch ends the run, naming tensor, ranks and step. 0: off.",
           .owner = "train"},
          {.key = "numerics.on_nonfinite",
           .place = choice(&Deck::numerics, &N::on_nonfinite, {"stop", "skip"}),
           .sentence = "What all ranks do, before the update, when loss or gradient norm is NaN or infinite; more than "
                       "100 steps skipped in a row end the run.",
           .owner = "train"},
          {.key = "numerics.trace",
           .place = at(&N::trace),
           .sentence = "Record fingerprints of each step in `fingerprints/`: of every layer forward and backward, of "
                       "gradients and weights. `tools/compare_fingerprints.py` finds where two runs part.",
           .owner = "train"},
      }};
}

Section optimizer_section() {
  using O = optim::OptimizerOptions;
  const auto at = [](auto member) { return place(&Deck::optimizer, member); };
  return {"optimizer",
          "AdamW.",
          {
              {.key = "optimizer.beta1",
               .place = at(&O::beta1),
               .range = half_open(0, 1),
               .sentence = "Decay of the first moment.",
               .owner = "optim"},
              {.key = "optimizer.beta2",
               .place = at(&O::beta2),
               .range = half_open(0, 1),
               .sentence = "Decay of the second moment.",
               .owner = "optim"},
              {.key = "optimizer.epsilon",
               .place = at(&O::epsilon),
               .range = above(0),
               .sentence = "Added to the root of the second moment.",
               .owner = "optim"},
              {.key = "optimizer.weight_decay",
               .place = at(&O::weight_decay),
               .range = at_least(0),
               .sentence = "Decay of matrices and embeddings, times the learning rate; gains and biases have none.",
               .owner = "optim"},
              {.key = "optimizer.clip_norm",
               .place = at(&O::clip_norm),
               .range = at_least(0),
               .sentence = "Gradients are scaled down to this norm; 0: never.",
               .owner = "optim"},
          }};
}

Section learning_rate_section() {
  using L = optim::LearningRateOptions;
  const auto at = [](auto member) { return place(&Deck::learning_rate, member); };
  return {
      "learning_rate",
      "A pure function of the step.",
      {
          {.key = "learning_rate.schedule",
           .place = choice(&Deck::learning_rate, &L::schedule, {"constant", "linear", "cosine", "wsd"}),
           .sentence = "After warm-up: the peak kept, a line, half a cosine, or the peak kept and a line at the end.",
           .owner = "optim"},
          {.key = "learning_rate.peak",
           .place = at(&L::peak),
           .range = at_least(0),
           .sentence = "Largest learning rate.",
           .owner = "optim"},
          {.key = "learning_rate.warmup_steps",
           .place = at(&L::warmup_steps),
           .unit = "updates",
           .range = at_least(0, 1e12),
           .sentence = "Updates of the linear rise to the peak; may be more than `run.steps`.",
           .owner = "optim"},
          {.key = "learning_rate.decay_steps",
           .place = at(&L::decay_steps),
           .unit = "updates",
           .range = at_least(0, 1e12),
           .sentence =
               "Updates from the end of warm-up to the minimum (linear, cosine; 0: up to `run.steps`), or of the "
               "final decay (wsd; 0: a fifth of `run.steps`).",
           .owner = "optim"},
          {.key = "learning_rate.minimum",
           .place = at(&L::minimum),
           .range = at_least(0),
           .sentence = "Learning rate after the decay.",
           .owner = "optim"},
      }};
}

}  // namespace

std::vector<Section> training_sections() {
  return {precision_section(), numerics_section(), optimizer_section(), learning_rate_section()};
}

}  // namespace trireme::config
