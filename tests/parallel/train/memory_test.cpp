// What a rank holds, against formulas: work is truly shared along every axis.
#include <cmath>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "trireme/pipeline/slots.hpp"
#include "trireme/train/train.hpp"

#include "parallel/parallel.hpp"
#include "parallel/train/train_test.hpp"

namespace trireme::testing {
namespace {

using comm::Axis;
using device::MemoryClass;

constexpr std::int64_t layers = 8;
constexpr std::int64_t width = 128;
constexpr std::int64_t vocab = 1024;

/// Eight blocks that are alike and have no small tensors but norms; eight micro-batches.
Case wide(int data, int tensor, int pipeline) {
  Case what{Base::tiny,
            {"model.layers=8", "model.width=128", "model.heads=8", "model.vocab=1024", "model.bias=false",
             "model.position=rotary", "model.tied_embeddings=false", "grid.data=" + std::to_string(data),
             "grid.tensor=" + std::to_string(tensor), "grid.pipeline=" + std::to_string(pipeline)}};
  return what;
}

/// The same number of blocks in every chunk.
std::string equal_cut(int chunks) {
  std::string text;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    text += (chunk == 0 ? "" : ", ") + std::to_string(layers / chunks);
  }
  return "pipeline.layers_per_stage=[" + text + "]";
}

class Memory : public TrainTest {
 protected:
  [[nodiscard]] double planned(const Laid& laid, const comm::GridShape& coordinates, MemoryClass memory_class) const {
    const auto bytes = train::planned_memory(laid.deck, laid.grid, coordinates, 1);
    return static_cast<double>(bytes[static_cast<std::size_t>(memory_class)]);
  }

  /// Activations of a stage; the grid has a pipeline only.
  [[nodiscard]] double activations(const Case& what, int stage) const {
    const Laid laid = lay(what, folder());
    comm::GridShape coordinates{{0, 0, 0}};
    coordinates[Axis::pipeline] = stage;
    return planned(laid, coordinates, MemoryClass::activations);
  }
};

/// Parameters of a rank's stage, norms left out: equal parts of the blocks, an embedding first, a head last.
double elements_of(const comm::GridShape& grid, const comm::GridShape& coordinates) {
  const int stage = coordinates[Axis::pipeline];
  const int stages = grid[Axis::pipeline];
  double elements = 12.0 * width * width * layers / stages;
  if (stage == 0) elements += static_cast<double>(vocab * width);
  if (stage + 1 == stages) elements += static_cast<double>(vocab * width);
  return elements / grid[Axis::tensor];
}

/// Of the norms of a rank's stage, which every rank of the tensor axis has whole.
double norm_elements_of(const comm::GridShape& grid, const comm::GridShape& coordinates) {
  const int stages = grid[Axis::pipeline];
  const bool last = coordinates[Axis::pipeline] + 1 == stages;
  return 2.0 * width * (2 * layers / stages + (last ? 1 : 0));
}

/// Bytes an element of what a rank of a group of g holds.
struct ElementBytes {
  double parameters = 0;
  double masters = 0;
  double gradients = 0;
  double moments = 0;
};

ElementBytes bytes_of_an_element(const Laid& laid) {
  constexpr double lanes = 8;
  const config::Deck& deck = laid.deck;
  const int zero = static_cast<int>(deck.sharding.zero_stage);
  const int data = laid.grid[Axis::data];
  const double g = zero == 0 ? 1 : deck.sharding.group == 0 ? data : static_cast<double>(deck.sharding.group);
  const bool invariant = deck.numerics.grid_invariant;
  const bool whole_gradients = zero < 2 || (invariant && data < 16) || g == 1;
  const double lane_buffers = invariant && data < 8 ? 1 + std::log2(lanes / data) : 1;
  ElementBytes bytes{.gradients = whole_gradients ? 4 * lane_buffers : 4 / g, .moments = 8 / g};
  if (deck.precision.compute == "fp32") {
    bytes.parameters = zero == 3 ? 4 / g : 4;
  } else {
    bytes.parameters = zero == 3 && g > 1 ? 0 : 2;
    bytes.masters = 4 / g;
  }
  return bytes;
}

TEST_F(Memory, OfWeightsGradientsAndMomentsIsTheFormula) {
  std::vector<Case> cases;
  for (const auto& [data, tensor, pipeline] :
       {std::array{1, 1, 1}, {8, 1, 1}, {1, 8, 1}, {1, 1, 8}, {2, 2, 2}, {4, 1, 2}, {4, 2, 1}, {2, 1, 4}, {16, 1, 2}}) {
    for (const int zero : {0, 1, 2, 3}) {
      for (const int group : {0, 1, 2}) {
        if (group > 0 && (zero == 0 || data % group != 0)) continue;
        for (const char* const invariant : {"true", "false"}) {
          for (const char* const precision : {"fp32", "bf16"}) {
            cases.push_back(
                wide(data, tensor, pipeline)
                    .with({"batch.global=16", "batch.micro=1", equal_cut(pipeline),
                           "sharding.zero_stage=" + std::to_string(zero), "sharding.group=" + std::to_string(group),
                           std::string("numerics.grid_invariant=") + invariant,
                           std::string("precision.compute=") + precision}));
          }
        }
      }
    }
  }
  for (std::size_t number = 0; number < cases.size(); ++number) {
    if (static_cast<int>(number) % world().size() != world().rank()) continue;
    SCOPED_TRACE(cases[number].text());
    const Laid laid = lay(cases[number], folder());
    const ElementBytes bytes = bytes_of_an_element(laid);
    for (int rank = 0; rank < laid.grid.size(); ++rank) {
      const comm::GridShape coordinates = laid.grid.coordinates_of(rank);
      const double elements = elements_of(laid.grid, coordinates);
      const double norms = norm_elements_of(laid.grid, coordinates);
      const auto expect_close = [&](MemoryClass memory_class, double bytes_an_element) {
        // Norms, a fiftieth of it at most, count where they are not of the type of matrices.
        const double wider = bytes_an_element == 2 ? 2 * norms : 0;
        const double expected = bytes_an_element * (elements + norms) + wider;
        EXPECT_NEAR(planned(laid, coordinates, memory_class), expected, 0.02 * expected)
            << "rank " << rank << " " << name_of(memory_class);
      };
      expect_close(MemoryClass::parameters, bytes.parameters);
      expect_close(MemoryClass::masters, bytes.masters);
      expect_close(MemoryClass::gradients, bytes.gradients);
      expect_close(MemoryClass::moments, bytes.moments);
    }
  }
}

/// In the shape of GPT-2: 64 columns a head, four times the width in the mlp, far more vocabulary than width.
TEST_F(Memory, OfActivationsInHalfPrecisionIsHalfButForLogitsAndStatistics) {
  for (const char* const mode : {"none", "selective", "full"}) {
    const auto bytes = [&](const char* precision) {
      const Case what{
          Base::tiny,
          {"model.layers=12", "model.width=256", "model.heads=4", "model.context=256", "model.vocab=5003",
           "batch.micro=4", std::string("recompute.mode=") + mode, std::string("precision.compute=") + precision}};
      return activations(what, 0);
    };
    const double full = bytes("fp32");
    for (const char* const precision : {"bf16", "fp16"}) {
      EXPECT_LE(bytes(precision), 0.6 * full) << mode << " " << precision;
      EXPECT_GE(bytes(precision), 0.5 * full) << mode << " " << precision;
    }
  }
}

TEST_F(Memory, OfATrainingIsWhatWasPlannedForItsRank) {
  for (const Case& what : odd_sample(world().size(), 1, all_precisions)) {
    on_first_ranks(what, [&](comm::Communicator& group) {
      const Training training(group, what, folder());
      const Laid laid = lay(what, folder());
      const auto bytes = train::planned_memory(laid.deck, laid.grid, laid.grid.coordinates_of(group.rank()), 1);
      for (int index = 0; index < device::num_memory_classes; ++index) {
        EXPECT_EQ(static_cast<std::size_t>(bytes[static_cast<std::size_t>(index)]),
                  training.arena().used_bytes(static_cast<MemoryClass>(index)))
            << what.text() << " " << name_of(static_cast<MemoryClass>(index));
      }
    });
  }
}

/// Bytes of one more micro-batch in flight, from schedules that hold all of them.
TEST_F(Memory, OfActivationsIsThatOfAMicroBatchTimesSlots) {
  double block_gradients = 0;  // of one block between input and weight pass, the same for all schedules and stages
  for (const int stages : {2, 4}) {
    const auto gpipe = [&](int chunks, int micro_batches, int stage) {
      return activations(wide(1, 1, chunks)
                             .with({equal_cut(chunks), "pipeline.schedule=gpipe",
                                    "batch.global=" + std::to_string(micro_batches), "batch.micro=1"}),
                         stage);
    };
    for (int stage = 0; stage < stages; ++stage) {
      const double one = gpipe(stages, 1, stage);
      const double slot = gpipe(stages, 2, stage) - one;
      EXPECT_GT(slot, 0);
      EXPECT_EQ(gpipe(stages, 5, stage), one + 4 * slot);
      for (const char* const schedule : {"naive", "1f1b", "zero_bubble", "zero_bubble_h2"}) {
        SCOPED_TRACE(schedule);
        const Case what = wide(1, 1, stages)
                              .with({equal_cut(stages), std::string("pipeline.schedule=") + schedule, "batch.global=8",
                                     "batch.micro=1"});
        const pipeline::Schedule actions = pipeline::make_schedule(*pipeline::schedule_kind(schedule), stages, 8);
        const pipeline::Slots slots = pipeline::assign_slots(actions.actions[static_cast<std::size_t>(stage)]);
        const double rest = activations(what, stage) - one - static_cast<double>(slots.peak_live - 1) * slot;
        if (std::string(schedule).starts_with("zero")) {
          // Fused passes work in the gradients of one block.
          const double blocks = static_cast<double>(slots.num_gradients * (layers / stages)) - 1;
          if (block_gradients == 0) block_gradients = rest / blocks;
          EXPECT_GT(block_gradients, 0);
          EXPECT_EQ(rest, block_gradients * blocks);
        } else {
          EXPECT_EQ(rest, 0);
        }
      }
    }
  }
}

TEST_F(Memory, OfChunksThatShareAStageIsThatOfTheirSlots) {
  const std::string eight = "batch.global=8";
  const Case interleaved =
      wide(1, 1, 2).with({equal_cut(4), "pipeline.schedule=interleaved", "pipeline.chunks=2", eight, "batch.micro=1"});
  const auto gpipe = [&](const char* micro_batches, int stage) {
    return activations(wide(1, 1, 4).with({equal_cut(4), "pipeline.schedule=gpipe", micro_batches, "batch.micro=1"}),
                       stage);
  };
  const pipeline::Schedule actions = pipeline::make_schedule(pipeline::ScheduleKind::interleaved, 2, 8, 2);
  for (const int stage : {0, 1}) {
    // Four stages have chunks of the same length; the last one has the head's activations too.
    const int alike = stage == 0 ? 0 : 3;
    const double one = gpipe("batch.global=1", alike);
    const double slot = gpipe("batch.global=2", alike) - one;
    const auto live = pipeline::assign_slots(actions.actions[static_cast<std::size_t>(stage)]).peak_live;
    EXPECT_EQ(activations(interleaved, stage), one + static_cast<double>(live - 1) * slot);
  }
}

}  // namespace
}  // namespace trireme::testing
