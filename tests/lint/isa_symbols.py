"""Objects of an instruction set share no symbol with the rest: isa_symbols.py BUILD_FOLDER

The linker keeps one of several inline functions of equal names; were it one that was compiled for AVX-512, the program
would die on a processor without it. So each symbol that such an object defines lies in the namespace of its own
instruction set.
"""

import pathlib
import re
import subprocess
import sys

import tree

DEFINED = re.compile(r"^[0-9a-f]+ ([A-Zuvw]) (.*)$")


def foreign_symbols(path, isa):
    done = subprocess.run(["nm", "-C", "--defined-only", str(path)], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        found = DEFINED.match(line)
        if found and f"host::{isa}::" not in found.group(2) and not found.group(2).startswith("DW.ref"):
            yield found.group(2)


def main():
    problems, count = [], 0
    for isa in ("generic", "avx2", "avx512", "amx"):
        for path in sorted(pathlib.Path(sys.argv[1]).rglob(f"*_{isa}.dir/**/*.isa.cpp.o")):
            count += 1
            problems += [f"{path.name} ({isa}): defines `{name}`" for name in foreign_symbols(path, isa)]
    if count == 0:
        problems.append(f"{sys.argv[1]}: no object of an instruction set (build first)")
    tree.finish(problems, f"symbols of {count} objects of an instruction set")


if __name__ == "__main__":
    main()
