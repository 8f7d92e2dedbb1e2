#include "trireme/bench/bench.hpp"

#include "bench/subjects.hpp"

namespace trireme::bench {

bool needs_ranks(Subject subject) {
  return subject == Subject::comm || subject == Subject::io || subject == Subject::rates;
}

void run(comm::Communicator& world, const device::Device& device, const Options& options) {
  switch (options.subject) {
    case Subject::gemm:
      return run_gemm(device, options.json);
    case Subject::kernels:
      return run_kernels(device, options.json);
    case Subject::comm:
      return run_comm(world, device, options.json);
    case Subject::io:
      return run_io(world, options);
    case Subject::rates:
      return run_rates(world, device, options.json);
  }
}

}  // namespace trireme::bench
