// When the batch system ends this job.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trireme/config/deck.hpp"

namespace trireme::train {

struct TimeLeft {
  double seconds = 0;
  std::string source;  ///< who says so: `SLURM_JOB_END_TIME`, `squeue`, `walltime.left_command`
};

/// What this job has left: by walltime.left_command if there is one, else of a Slurm job by its environment or one
/// query. None outside of a job, and where its time is not limited; a question without an answer is one warning. Waits
/// for at most 10 seconds. One rank only.
[[nodiscard]] std::optional<TimeLeft> ask_time_left(const config::WalltimeOptions& options);

/// Seconds of what `squeue -o %L` prints: `58`, `4:03`, `1:00:00`, `2-01:00:00`; none for `UNLIMITED` and all else.
[[nodiscard]] std::optional<double> parse_slurm_time(std::string_view text);

}  // namespace trireme::train
