// What a deck will cost on a grid: memory, time and traffic, before anyone waits in a queue. No ranks are needed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trireme/comm/grid_shape.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/model/partition.hpp"
#include "trireme/pipeline/simulate.hpp"
#include "trireme/plan/rates.hpp"

namespace trireme::plan {

/// Bytes of a rank by class.
using MemoryBytes = std::array<std::int64_t, device::num_memory_classes>;

/// Lays out the rank at these coordinates and counts: its maker is who lays out real runs.
using MemoryOf = std::function<MemoryBytes(const comm::GridShape& coordinates)>;

/// What the busiest rank sends along an axis in a step.
struct AxisTraffic {
  double messages = 0;
  double sent_bytes = 0;
  double time_s = 0;     ///< if nothing hid it
  double exposed_s = 0;  ///< of it, what computing does not hide
};

struct StagePlan {
  std::vector<model::ChunkRange> chunks;
  std::int64_t parameters = 0;  ///< weights of a rank of it (tensor rank 0), before ZeRO 3 shares them out
  double compute_s = 0;         ///< of all passes of a step, with the traffic of the tensor axis
  double reduce_s = 0;          ///< gradients that are still under way when the last pass is done
  double update_s = 0;          ///< gradient norm, AdamW, and weights that are still under way after it
};

struct Plan {
  comm::GridShape grid;
  std::int64_t micro_batch = 0;    ///< sequences
  std::int64_t micro_batches = 0;  ///< of a data rank in a step
  std::int64_t slices = 0;         ///< of the tensor dimension
  int group = 0;                   ///< data ranks that share one copy
  bool gradients_shared = false;   ///< ZeRO 2 and 3, where gradients need not wait for their lanes
  pipeline::Schedule schedule;
  pipeline::Simulation simulation;  ///< of the passes of a step
  std::vector<StagePlan> stages;
  std::array<AxisTraffic, comm::num_axes> traffic;  ///< by Axis
  std::vector<MemoryBytes> memory;                  ///< of ranks_to_lay_out(grid); empty when not asked for
  double step_time_s = 0;
  double tokens_per_s = 0;   ///< of the whole job
  double flop_per_step = 0;  ///< model FLOP, recomputing left out
  double mfu = 0;            ///< of the ranks' GEMM rate in the type that is computed in
  [[nodiscard]] const AxisTraffic& along(comm::Axis axis) const { return traffic[static_cast<std::size_t>(axis)]; }
};

/// The ranks whose memory stands for all: every rank of a grid of up to 64; of larger ones, on each stage, those at the
/// ends of the tensor and data axes.
[[nodiscard]] std::vector<int> ranks_to_lay_out(const comm::GridShape& grid);

/// Plans a deck that check_grid() accepts, model.vocab and batch.micro filled.
///
/// Time: a pass takes FLOP over the GEMM rate of precision.compute, plus bytes over the triad rate, plus its messages
/// along the tensor axis, which nothing hides. Messages of the pipeline run beside the passes, as in
/// pipeline::simulate(). The gradients of a micro-batch that completes a sum are reduced bucket by bucket beneath its
/// backward pass: what exceeds that pass, and the last bucket, is exposed; so too updated weights beneath the update,
/// and gathers of ZeRO 3 beneath each pass. The step ends when the last stage has updated. In half precision
/// activations, their gradients and weights have two bytes (so have the few vectors, which are fp32 in fact); gradients
/// of weights and sums over tensor ranks have four. Left out: reading the data, evaluation, saving, the metrics.
[[nodiscard]] Plan make_plan(const config::Deck& deck, const comm::GridShape& grid, const MachineRates& rates,
                             const MemoryOf& memory_of = nullptr);

/// The plan as `trireme plan` prints it.
[[nodiscard]] std::string describe(const Plan& plan);

/// What `trireme plan` was asked for.
struct Request {
  std::string deck;
  std::vector<std::string> overrides;
  int ranks = 0;         ///< 0: as many as the deck's grid names
  int threads = 1;       ///< of a rank
  std::string rates;     ///< JSON file for read_rates(); empty: MachineRates{}
  std::string timeline;  ///< where the schedule goes, as FILE.svg and FILE.json; empty: nowhere
};

/// The ranks to plan for: `asked`, or where that is 0 as many as the grid has places. Throws InputError where an axis
/// is 0, or the places are more than an int can count.
[[nodiscard]] int ranks_of(const comm::GridOptions& grid, int asked);

/// Reads deck and rates, plans, prints to standard output, writes the timeline. One process, no MPI; a deck without
/// model.vocab needs its data. Throws InputError, SystemError.
void print_plan(const Request& request);

}  // namespace trireme::plan
