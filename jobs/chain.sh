#!/usr/bin/env bash
# Queues a run as several jobs, each waiting for the one before: for sites that allow no requeue.
#
#   jobs/chain.sh JOBS [sbatch option ...] -- jobs/train.sbatch DECK [section.key=value ...]
#
# Each job goes on from the newest checkpoint; those that start after the run is finished end at once. Prints the job numbers.
set -euo pipefail

usage() {
  echo "use: chain.sh JOBS [sbatch option ...] -- SCRIPT DECK [section.key=value ...]" >&2
  exit 2
}
[ $# -ge 3 ] || usage
[[ $1 =~ ^[1-9][0-9]*$ ]] || usage
jobs=$1
shift
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  options+=("$1")
  shift
done
[ $# -ge 3 ] || usage
shift

export TRIREME_REQUEUE=0
waits=()
for _ in $(seq "$jobs"); do
  job=$(sbatch --parsable "${options[@]}" "${waits[@]}" "$@")
  job=${job%%;*}
  echo "$job"
  # afterany: a job that stopped in time leaves with code 75.
  waits=("--dependency=afterany:$job")
done
