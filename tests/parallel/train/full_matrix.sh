#!/bin/bash
# Trains many grids of up to 8 ranks, each against one rank, bit for bit:
#   product:PRECISION  all grids, schedules, ZeRO stages and recompute modes of the tiny deck: 720 cases
#   odd:PRECISION      60 cases with every pair of choices of the odd deck
#   llama:PRECISION    the same of a model of 10M parameters
# PRECISION is fp32, bf16 or fp16. On two idle cores a product in fp32 takes about five minutes; a case of llama took
# half a minute while others computed too.
#
#   full_matrix.sh test_parallel_train RESULTS [mpiexec and its options ...]
#
# TRIREME_TEST_SETS names the sets; without it: the product in bf16, the others in each precision.
#
# RESULTS gets a line for each case; a second call with the same file goes on where the first was. A case that ends the
# process twice, or does not end, is a failure, and the next goes on. Exit code 0 when every case has passed.
set -u
program=$1
results=$2
shift 2
[ $# -gt 0 ] || set -- mpirun --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1
export OMP_NUM_THREADS=1 TRIREME_TEST_RESULTS=$results
export TRIREME_TEST_SETS=${TRIREME_TEST_SETS:-product:bf16 odd:fp32 odd:bf16 odd:fp16 llama:fp32 llama:bf16 llama:fp16}

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
