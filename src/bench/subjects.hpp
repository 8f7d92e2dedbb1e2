// What `trireme bench` measures, one function a subject; each prints its table or its JSON object.
#pragma once

#include "trireme/bench/bench.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/device/device.hpp"

namespace trireme::bench {

/// The products of GPT-2 124M on the rank's threads in fp32, bf16 and fp16, beside the GEMM ceiling (a large square
/// product in fp32) and the rate of the memory (triad).
void run_gemm(const device::Device& device, bool json);

/// The hot kernels at sizes of GPT-2 124M, each with the share of its floor: FLOP over the GEMM ceiling or bytes over
/// the triad rate, whichever takes longer. Operands that stay in a cache may beat the floor.
void run_kernels(const device::Device& device, bool json);

/// Messages between pairs of ranks inside a host and between hosts, and the collectives of the gradients over all
/// ranks. Collective, as the next two.
void run_comm(comm::Communicator& world, const device::Device& device, bool json);

/// Files written with fsync and read again, by one rank and by all at once.
void run_io(comm::Communicator& world, const Options& options);

/// The rates that `trireme plan --rates` reads.
void run_rates(comm::Communicator& world, const device::Device& device, bool json);

}  // namespace trireme::bench
