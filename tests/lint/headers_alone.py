"""Every header of a module compiles alone: headers_alone.py MODULE COMPILE_COMMANDS.json

The flags are those of the module's own sources, so private headers find their vendor headers too; of headers for the tile
registers (`*amx*`) those of the sources that are compiled for them.
"""

import json
import pathlib
import shlex
import subprocess
import sys

import tree


def compiler_call(entries, is_meant):
    """The command of the first source that is meant without its input and output; None when there is none."""
    for entry in entries:
        words = shlex.split(entry["command"])
        if is_meant(pathlib.Path(entry["file"]), words):
            return words[: words.index("-o")]
    return None


def compiles(call, header):
    """Compiles one header as a file of its own; returns the compiler's words when it does not."""
    program = f'#include "{header}"\n'
    words = call + ["-fsyntax-only", "-O0", "-x", "c++", "-"]
    done = subprocess.run(words, input=program, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr


def main():
    module, commands = sys.argv[1:3]
    entries = json.loads(pathlib.Path(commands).read_text())
    folder = tree.ROOT / "src" / module
    call = compiler_call(entries, lambda source, _: source.parent == folder and source.suffix == ".cpp")
    tiles = compiler_call(entries, lambda source, words: folder in source.parents and "-DTRIREME_ISA=amx" in words)
    if call is None:
        sys.exit(f"no source of `{module}` in {commands}")
    public = tree.files(".hpp", folders=(f"include/trireme/{module}",))
    private = tree.files(".hpp", folders=(f"src/{module}",))
    names = [path.relative_to(tree.ROOT / "include").as_posix() for path in public]
    names += [path.relative_to(tree.ROOT / "src").as_posix() for path in private]
    calls = {name: tiles if "amx" in pathlib.Path(name).name else call for name in names}
    problems = [
        f"{name} does not compile alone:\n{words}"
        for name in names
        if calls[name] is not None and (words := compiles(calls[name], name))
    ]
    tree.finish(problems, f"{len(names)} headers of {module}")


if __name__ == "__main__":
    main()
