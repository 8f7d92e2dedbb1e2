#!/usr/bin/env python3
"""Finds the first step, layer and tensor where two runs part: compare_fingerprints.py RUN OTHER

Both are run folders of runs with `numerics.trace = true`. Fingerprints do not depend on the grid where the numbers do
not (`numerics.grid_invariant`). Exit code 0: all steps that both have are equal; 1: they part; 2: nothing to compare.
"""

import sys
from pathlib import Path


def fail(message):
    print(f"compare_fingerprints.py: {message}", file=sys.stderr)
    sys.exit(2)


def steps_of(run):
    """Files by step."""
    folder = Path(run) / "fingerprints"
    steps = {int(path.stem[5:]): path for path in folder.glob("step_*.tsv")}
    if not steps:
        fail(f"`{folder}` holds no steps (the run was not traced) train with `numerics.trace=true`")
    return steps


def lines_of(path):
    lines = [tuple(line.split("\t")) for line in path.read_text().splitlines()]
    if not lines or lines[0] != ("phase", "name", "fingerprint") or any(len(line) != 3 for line in lines):
        fail(f"`{path}` is no file of fingerprints")
    return lines[1:]


def main():
    if len(sys.argv) != 3:
        fail("two run folders are needed")
    a, b = map(steps_of, sys.argv[1:])
    common = sorted(a.keys() & b.keys())
    if not common:
        fail(f"no step is in both (steps {min(a)} to {max(a)} and {min(b)} to {max(b)})")
    for step in common:
        mine, other = lines_of(a[step]), lines_of(b[step])
        if [line[:2] for line in mine] != [line[:2] for line in other]:
            fail(f"step {step}: the runs have other layers or tensors (they train different models)")
        parted = [i for i, (x, y) in enumerate(zip(mine, other)) if x != y]
        if not parted:
            continue
        first = parted[0]
        before = f"step {step}, {' '.join(mine[first - 1][:2])}" if first > 0 else "the step before" if step > common[0] else "nothing"
        print(f"the runs part in step {step}: {mine[first][0]} {mine[first][1]}")
        print(f"  {mine[first][2]} and {other[first][2]}; equal up to {before}")
        print(f"  {len(parted)} of the step's {len(mine)} fingerprints differ: "
              + ", ".join(" ".join(mine[i][:2]) for i in parted[:6]) + (", ..." if len(parted) > 6 else ""))
        sys.exit(1)
    only = sorted(a.keys() ^ b.keys())
    rest = f"; {len(only)} steps are in one of them only" if only else ""
    print(f"equal: {len(common)} steps, {common[0]} to {common[-1]}{rest}")


if __name__ == "__main__":
    main()
