#!/usr/bin/env bash
# From a fresh Debian machine to a trained model: packages, build, text, training on two ranks, a sample, a plot.
# Run it again: nothing is installed or built twice, and the run goes on from its newest checkpoint.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

say "packages"
tools/setup_debian.sh --build-only

say "build (the executable only)"
if [ ! -f build/release/build.ninja ]; then cmake --preset release -DTRIREME_TESTS=OFF; fi
cmake --build build/release --target trireme --parallel "$(nproc)"
trireme=build/release/trireme

say "text: the King James Bible, the last 5 % kept for validation"
mkdir -p runs/kjv
text=runs/kjv/bible.txt
if [ ! -s "$text" ]; then bible -f gen1:1-rev22:21 > "$text.part" && mv "$text.part" "$text"; fi
[ -f runs/kjv/train.h5 ] || "$trireme" prepare runs/kjv/train.h5 "$text" --tokenizer byte --take 0.95
[ -f runs/kjv/validation.h5 ] || "$trireme" prepare runs/kjv/validation.h5 "$text" --tokenizer byte --skip 0.95 --take 0.05

say "training on two ranks (about three minutes)"
source tools/mpi_environment.sh
OMP_NUM_THREADS=1 mpirun -n 2 "$trireme" train inputs/kjv_byte.toml

say "what the model says"
"$trireme" generate runs/kjv/run --prompt "And God said" --tokens 400

say "the checkpoint, as any HDF5 program sees it"
newest=$(ls -d runs/kjv/run/checkpoints/step_* | sort | tail -n 1)
h5dump -H -d /weights/blocks.0.attention.query.weight "$newest/index.h5" | head -n 12

say "the plot"
/usr/bin/python3 tools/plot_run.py runs/kjv/run --output runs/kjv/loss.png
printf 'Look at runs/kjv/loss.png. More steps: mpirun -n 2 %s train inputs/kjv_byte.toml run.steps=6000\n' "$trireme"
