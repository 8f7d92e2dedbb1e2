// What a run says at its start and at its end.
#pragma once

#include <string>

#include "trireme/base/dtype.hpp"
#include "trireme/comm/process_grid.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/device/arena.hpp"
#include "trireme/device/device.hpp"
#include "trireme/kernels/gemm.hpp"
#include "trireme/model/options.hpp"

namespace trireme::train {

/// Bytes of a rank by class, minimum, median and maximum over the ranks, one line a class. Collective.
[[nodiscard]] std::string describe_memory(comm::Communicator& world, const device::Arena& arena);

/// One line: what the products of this run cost, all ranks together, and how evenly they share it. Collective.
[[nodiscard]] std::string describe_flop(comm::Communicator& world, double flop);

/// One line: layers, width, parameters, FLOP per token.
[[nodiscard]] std::string describe_model(const model::ModelOptions& options);

/// grid.tsv: rank, host, coordinates, this rank's layers and the parameters it stands for. Collective; rank 0 writes.
void write_grid_table(const comm::ProcessGrid& grid, const std::string& layers, std::int64_t owned_elements,
                      const std::string& path);

/// FLOP/s of this machine's GEMM on this rank's threads, operands and output in the type that layers compute in: the
/// best of a few products of 1024 x 1024 x 1024.
[[nodiscard]] double measure_gemm_rate(const device::Device& device, kernels::Gemm& gemm, Dtype compute);

/// Peak resident memory of this process so far, from the kernel.
[[nodiscard]] std::int64_t peak_memory_bytes();

}  // namespace trireme::train
