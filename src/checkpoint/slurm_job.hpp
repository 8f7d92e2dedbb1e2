// What Slurm says of a job.
#pragma once

#include <string>

namespace trireme::checkpoint {

/// True when `squeue` answers that the job has ended; false when it runs, waits, or nothing can be learned (no Slurm,
/// no answer within 10 s). A job that Slurm does not know has ended if `same_cluster`: it forgets old jobs after
/// minutes.
[[nodiscard]] bool has_job_ended(const std::string& job, bool same_cluster);

}  // namespace trireme::checkpoint
