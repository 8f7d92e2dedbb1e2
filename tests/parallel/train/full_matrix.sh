#!/bin/bash
# Trains the whole product of grids of up to 8 ranks, schedules, ZeRO stages and recompute modes, each against one rank:
# 720 cases, about five minutes on two cores.
#
#   full_matrix.sh test_parallel_train RESULTS [mpiexec and its options ...]
#
# RESULTS gets a line for each case; a second call with the same file goes on where the first was. A case that does not
# end is a failure, and the next goes on. Exit code 0 when every case has passed.
set -u
program=$1
results=$2
shift 2
[ $# -gt 0 ] || set -- mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1
export OMP_NUM_THREADS=1 TRIREME_TEST_RESULTS=$results

touch "$results"
while true; do
  before=$(wc -l < "$results")
  "$@" -n 8 "$program" --gtest_also_run_disabled_tests --gtest_filter='FullMatrix.*'
  code=$?
  # 0 and 1: it came to its end. Else a case has ended the process; without a new one there is nothing to go on with.
  [ $code -le 1 ] && [ "$(grep -c '^begun' "$results")" -eq "$(grep -c '^\(passed\|failed\)' "$results")" ] && break
  [ "$(wc -l < "$results")" -gt "$before" ] || break
done
echo "passed $(grep -c '^passed' "$results"), failed $(grep -c '^failed' "$results")"
grep '^failed' "$results"
[ $code -eq 0 ] && ! grep -q '^failed' "$results"
