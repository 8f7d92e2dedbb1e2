#!/bin/bash
# Trains the whole product of grids of up to 8 ranks, schedules, ZeRO stages and recompute modes, each against one rank:
# 720 cases, about five minutes on two cores.
#
#   full_matrix.sh test_parallel_train RESULTS [mpiexec and its options ...]
#
# RESULTS gets a line for each case; a second call with the same file goes on where the first was. A case that ends the
# process twice, or does not end, is a failure, and the next goes on. Exit code 0 when every case has passed.
set -u
program=$1
results=$2
shift 2
[ $# -gt 0 ] || set -- mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1
export OMP_NUM_THREADS=1 TRIREME_TEST_RESULTS=$results

touch "$results"
sed -i '/^complete$/d' "$results"
until [ "$(tail -n 1 "$results")" = complete ]; do
  before=$(wc -l < "$results")
  "$@" -n 8 "$program" --gtest_also_run_disabled_tests --gtest_filter='FullMatrix.*'
  [ "$(wc -l < "$results")" -gt "$before" ] || break  # it does not even start
done
echo "passed $(grep -c '^passed' "$results"), failed $(grep -c '^failed' "$results")"
grep '^failed' "$results"
[ "$(tail -n 1 "$results")" = complete ] && ! grep -q '^failed' "$results"
