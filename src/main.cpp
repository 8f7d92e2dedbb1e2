// Trireme: parse, bring up what the command needs, run it, down.
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <optional>

#include <fmt/core.h>

#include "trireme/base/build.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/log.hpp"
#include "trireme/bench/bench.hpp"
#include "trireme/checkpoint/checkpoint.hpp"
#include "trireme/comm/host_load.hpp"
#include "trireme/comm/mpi_runtime.hpp"
#include "trireme/config/deck.hpp"
#include "trireme/data/prepare.hpp"
#include "trireme/device/device.hpp"
#include "trireme/hdf5/file.hpp"
#include "trireme/infer/infer.hpp"
#include "trireme/kernels/gemm.hpp"
#include "trireme/train/signal_flag.hpp"
#include "trireme/train/train.hpp"

#include "command_line.hpp"

namespace {

using namespace trireme;

device::Device whole_machine(comm::Communicator& world) {
  return device::Device(
      {.num_threads = comm::default_num_threads(*world.split_by_host()), .isa = device::preferred_isa()});
}

void print_version() {
  fmt::print("trireme {}\n{}\nHDF5 {}\n{}\n{}\ninstruction set {}\n", build_description(), comm::mpi_version(),
             hdf5::library_version(), kernels::gemm_library_version(), device::kokkos_version(),
             device::name_of(device::detect_isa()));
}

/// Commands of one process that never touch MPI: they run on login nodes.
int run_alone(const CommandLine& line, comm::Communicator& self) {
  switch (line.command) {
    case Command::plan:
      plan::print_plan(line.plan);
      return 0;
    case Command::bench:
      bench::run(self, whole_machine(self), line.bench);
      return 0;
    case Command::checkpoint_list:
      return checkpoint::print_list(line.checkpoint);
    case Command::checkpoint_show:
      return checkpoint::print_show(line.checkpoint, line.statistics);
    case Command::checkpoint_verify:
      return checkpoint::print_verify(line.checkpoint);
    case Command::checkpoint_diff:
      return checkpoint::print_diff(line.checkpoint, line.other_checkpoint);
    case Command::help_section:
      fmt::print("{}", config::help_of(line.section));
      return 0;
    case Command::version:
      print_version();
      return 0;
    default:
      fmt::print("{}", line.text);
      return 0;
  }
}

bool needs_ranks(const CommandLine& line) {
  switch (line.command) {
    case Command::train:
    case Command::prepare:
    case Command::generate:
    case Command::evaluate:
      return true;
    case Command::bench:
      return bench::needs_ranks(line.bench.subject);
    default:
      return false;
  }
}

int run_on_ranks(const CommandLine& line, comm::Communicator& world) {
  switch (line.command) {
    case Command::train:
      return static_cast<int>(train::train(world, line.deck, line.overrides));
    case Command::prepare:
      data::prepare(world, line.prepare);
      return 0;
    default: {
      const device::Device device = whole_machine(world);
      if (line.command == Command::bench) {
        bench::run(world, device, line.bench);
      } else if (line.command == Command::evaluate) {
        infer::evaluate(world, device, line.evaluate);
      } else {
        infer::generate(world, device, line.generate);
      }
      return 0;
    }
  }
}

void say_last_words(const char* what) {
  if (*what != '\0') log::error("{}", what);  // of unconnected ranks only one has words
  log::close_file();
}

/// Ends the job at once: the others may wait for this rank for ever.
int fail_alone(comm::Communicator& world, ExitCode code, const char* what) {
  say_last_words(what);
  world.abort(static_cast<int>(code));
  return static_cast<int>(code);
}

/// Ranks that failed alike leave together with the code, in the words of rank 0; a rank that failed alone ends the job.
/// `own`: the others cannot have failed alike. What will be said for certain is said before anything else can fail.
int fail(comm::Communicator& world, ExitCode code, const char* what, bool own) {
  constexpr double patience_s = 3;
  const bool speaks = own || world.rank() == 0;
  if (speaks) say_last_words(what);
  return world.all_arrive(patience_s) ? static_cast<int>(code) : fail_alone(world, code, speaks ? "" : what);
}

template <class Work>
int guarded(comm::Communicator& world, const Work& work) {
  try {
    const int code = work();
    log::close_file();
    return code;
  } catch (const comm::CommunicationError& error) {
    return fail_alone(world, error.code(), error.what());
  } catch (const Error& error) {
    return fail(world, error.code(), error.what(), false);
  } catch (const std::bad_alloc&) {
    return fail(world, ExitCode::system_error,
                "out of memory (an allocation outside of the planned memory was refused)", true);
  } catch (const std::exception& error) {
    return fail(world, ExitCode::system_error, error.what(), true);
  }
}

int run(int argc, char** argv) {
  const auto self = comm::make_self_communicator();
  CommandLine line;
  std::optional<InputError> wrong_line;  // said by one of the ranks of a job, so kept until they are connected
  try {
    line = parse_command_line(argc, argv);
  } catch (const InputError& error) {
    wrong_line = error;
  }
  const bool alone = wrong_line ? !comm::started_by_launcher() : !needs_ranks(line);
  if (alone) {
    return guarded(*self, [&] {
      if (wrong_line) throw *wrong_line;
      return run_alone(line, *self);
    });
  }

  std::unique_ptr<comm::MpiRuntime> mpi;
  const int started = guarded(*self, [&] {
    mpi = std::make_unique<comm::MpiRuntime>(argc, argv);
    return 0;
  });
  if (started != 0) return started;
  comm::Communicator& world = mpi->world();
  log::configure(world.rank() == 0, world.rank(), line.verbose ? log::Level::debug : log::Level::info);
  return guarded(world, [&] {
    if (wrong_line) throw *wrong_line;
    return run_on_ranks(line, world);
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<train::SignalFlag> signals;  // before MPI starts: a job may be told to stop at any moment
  if (asks_for_training(argc, argv)) signals.emplace();
  return run(argc, argv);
}
