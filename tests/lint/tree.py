"""What the lint tests know of the source tree: its root, its files, its modules and their levels."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
TOP_FOLDERS = ("include", "src", "tests", "tools", "inputs", "jobs", ".ci")


def files(*suffixes, folders=TOP_FOLDERS):
    """Files below the top folders and at the root itself, sorted; all of them without suffixes."""
    found = [path for path in ROOT.iterdir() if path.is_file()] if folders == TOP_FOLDERS else []
    for folder in folders:
        found += [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return sorted(path for path in found if not suffixes or path.suffix in suffixes)


def includes(path):
    """(line number, included name) of every #include of a file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(n, m.group(1)) for n, m in ((n, INCLUDE.match(line)) for n, line in enumerate(lines, 1)) if m]


def levels():
    """Level of every module, from src/levels.txt."""
    table = {}
    for line in (ROOT / "src/levels.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            level, module = line.split()
            table[module] = int(level)
    return table


def dependencies(module):
    """The DEPENDS line of a module's CMakeLists.txt."""
    text = (ROOT / "src" / module / "CMakeLists.txt").read_text()
    call = re.search(r"trireme_module\(\s*" + module + r"\b(.*?)\)", text, re.DOTALL)
    found = re.search(r"\bDEPENDS\b(.*?)(?:\bLIBRARIES\b|\bSOURCES\b|$)", call.group(1), re.DOTALL) if call else None
    return set(found.group(1).split()) if found else set()


def finish(problems, what):
    """Ends the test: prints the problems, or what was looked at."""
    for problem in problems:
        print(problem)
    print(f"{what}: {len(problems)} problems")
    sys.exit(1 if problems else 0)
