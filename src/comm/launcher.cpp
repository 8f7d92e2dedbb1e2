#include "comm/launcher.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "trireme/comm/mpi_runtime.hpp"

namespace trireme::comm {
namespace {

int number(const char* text) {
  return text == nullptr ? 0 : std::atoi(text);
}

/// The tasks of the srun step that this process belongs to, 0 when it belongs to none. A batch script has SLURM_PROCID
/// and SLURM_NTASKS too, but no step.
int tasks_of_slurm_step(const Environment& environment) {
  if (environment("SLURM_PROCID") == nullptr) return 0;
  if (const char* const tasks = environment("SLURM_STEP_NUM_TASKS")) return number(tasks);
  return environment("SLURM_STEP_ID") == nullptr ? 0 : number(environment("SLURM_NTASKS"));
}

}  // namespace

std::optional<Launcher> find_launcher(const Environment& environment) {
  const auto is_set = [&](const char* name) { return environment(name) != nullptr; };
  const auto value = [&](const char* name) { return number(environment(name)); };

  // mpirun first: under Slurm it starts its remote daemons with srun, whose variables then describe the daemons.
  if (is_set("OMPI_COMM_WORLD_SIZE"))
    return Launcher{"mpirun", value("OMPI_COMM_WORLD_RANK"), value("OMPI_COMM_WORLD_SIZE")};

  const bool connects = is_set("PMI_RANK") || is_set("PMI_FD") || is_set("PMIX_RANK");
  const int tasks = tasks_of_slurm_step(environment);
  // One unconnected task (such as the shell of an interactive step) needs no MPI.
  if (!is_set("MPI_LOCALNRANKS") && (tasks > 1 || (tasks == 1 && connects))) {
    return Launcher{"srun", value("SLURM_PROCID"), tasks, connects};
  }
  if (is_set("PMI_RANK")) return Launcher{"mpiexec", value("PMI_RANK"), value("PMI_SIZE")};
  if (is_set("PMIX_RANK")) return Launcher{"a PMIx launcher", value("PMIX_RANK"), 0};
  if (is_set("MPI_LOCALNRANKS")) return Launcher{"mpiexec", value("MPI_LOCALRANKID"), value("MPI_LOCALNRANKS")};
  return std::nullopt;
}

std::string unconnected_message(const Launcher& launcher) {
  return fmt::format(
      "`{}` started {} ranks, but MPI sees each of them alone (the launcher and the MPI library do not "
      "speak the same protocol) start with `srun --mpi=pmix` (`srun --mpi=list` shows what there is) or "
      "with the `mpirun` of the MPI library that this program was built with",
      launcher.name, launcher.num_ranks);
}

bool started_by_launcher() {
  return find_launcher([](const char* name) { return std::getenv(name); }).has_value();
}

}  // namespace trireme::comm
