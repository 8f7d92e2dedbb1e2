"""Every source is formatted as .clang-format says: format.py CLANG_FORMAT"""

import subprocess
import sys

import tree


def main():
    sources = tree.files(".hpp", ".cpp", ".cu", folders=("include", "src", "tests"))
    words = [sys.argv[1], "--dry-run", "-Werror", *map(str, sources)]
    done = subprocess.run(words, cwd=tree.ROOT, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    if done.returncode != 0 and not lines:
        lines = [done.stderr]
    tree.finish(lines, f"format of {len(sources)} files (mend with clang-format -i)")


if __name__ == "__main__":
    main()
