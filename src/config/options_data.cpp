#include "config/options.hpp"

namespace trireme::config {
namespace {

Section data_section() {
  using D = data::DataOptions;
  const auto at = [](auto member) { return place(&Deck::data, member); };
  return {"data",
          "Token files, as `trireme prepare` writes them.",
          {
              {.key = "data.train",
               .place = at(&D::train),
               .unit = "paths",
               .sentence = "Files to train on.",
               .owner = "data",
               .required = true},
              {.key = "data.validation",
               .place = at(&D::validation),
               .unit = "paths",
               .sentence = "Files of the validation loss, never trained on.",
               .owner = "data"},
              {.key = "data.weights",
               .place = at(&D::weights),
               .range = above(0),
               .sentence = "Share of each file of `data.train` in the samples; empty: every sample once per epoch.",
               .owner = "data"},
              {.key = "data.shuffle_block",
               .place = at(&D::shuffle_block),
               .unit = "samples",
               .range = at_least(1, 1LL << 40),
               .sentence = "Samples that are read together: blocks are permuted, then the samples within each.",
               .owner = "data"},
          }};
}

Section batch_section() {
  using B = data::BatchOptions;
  const auto at = [](auto member) { return place(&Deck::batch, member); };
  return {"batch",
          "How many sequences an update sees.",
          {
              {.key = "batch.global",
               .place = at(&B::global),
               .unit = "sequences",
               .range = at_least(1, 2147483647),
               .sentence = "Sequences of an update, over all ranks.",
               .owner = "data",
               .required = true},
              {.key = "batch.micro",
               .place = at(&B::micro),
               .unit = "sequences",
               .range = at_least(0, 2147483647),
               .sentence =
                   "Sequences of a micro-batch, what a rank computes at once; must divide `batch.global` / data ranks. "
                   "0: the largest divisor of `batch.global` up to 8 that leaves a multiple of 8 micro-batches, "
                   "else 1; on data ranks (or with lanes) that do not divide their number the largest smaller one "
                   "that fits, so that memory never grows with the ranks.",
               .owner = "data"},
          }};
}

}  // namespace

std::vector<Section> data_sections() {
  return {data_section(), batch_section()};
}

}  // namespace trireme::config
