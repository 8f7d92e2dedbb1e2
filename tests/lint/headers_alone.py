"""Every header of a module compiles alone: headers_alone.py MODULE COMPILE_COMMANDS.json

The flags are those of the module's own sources, so private headers find their vendor headers too.
"""

import json
import pathlib
import shlex
import subprocess
import sys

import tree


def compiler_call(module, commands):
    """The command of a source of the module without its input and output."""
    for entry in json.loads(pathlib.Path(commands).read_text()):
        source = pathlib.Path(entry["file"])
        if source.parent == tree.ROOT / "src" / module and source.suffix == ".cpp":
            words = shlex.split(entry["command"])
            return words[: words.index("-o")]
    sys.exit(f"no source of `{module}` in {commands}")


def compiles(call, header):
    """Compiles one header as a file of its own; returns the compiler's words when it does not."""
    program = f'#include "{header}"\n'
    words = call + ["-fsyntax-only", "-O0", "-x", "c++", "-"]
    done = subprocess.run(words, input=program, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr


def main():
    module, commands = sys.argv[1:3]
    call = compiler_call(module, commands)
    public = tree.files(".hpp", folders=(f"include/trireme/{module}",))
    private = tree.files(".hpp", folders=(f"src/{module}",))
    names = [path.relative_to(tree.ROOT / "include").as_posix() for path in public]
    names += [path.relative_to(tree.ROOT / "src").as_posix() for path in private]
    problems = [f"{name} does not compile alone:\n{words}" for name in names if (words := compiles(call, name))]
    tree.finish(problems, f"{len(names)} headers of {module}")


if __name__ == "__main__":
    main()
