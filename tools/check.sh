#!/usr/bin/env bash
# Proves that the tree is sound: packages, build with warnings as errors, all tests. Further words go to ctest:
#
#   tools/check.sh                 everything
#   tools/check.sh -L lint         only the tests of one label (unit, parallel, run, lint)
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }

say "packages"
tools/setup_debian.sh

source tools/mpi_environment.sh

say "configure"
cmake --preset release -DTRIREME_TESTS=ON -DTRIREME_WARNINGS_AS_ERRORS=ON

say "build"
cmake --build --preset release --parallel "$(nproc)"

say "test"
exec ctest --preset release --parallel "$(nproc)" "$@"
