"""A module includes lower levels only, and only modules that stand in its DEPENDS line; siblings never see each other."""

import tree

LEVELS = tree.levels()


def check_dependencies(module):
    for other in sorted(tree.dependencies(module)):
        if other not in LEVELS:
            yield f"src/{module}/CMakeLists.txt: DEPENDS names `{other}` (no such module in src/levels.txt)"
        elif LEVELS[other] >= LEVELS[module]:
            yield (f"src/{module}/CMakeLists.txt: `{module}` (level {LEVELS[module]}) depends on `{other}` "
                   f"(level {LEVELS[other]}) only lower levels are allowed")


def check_include(module, path, line, name, is_public):
    place = f"{path.relative_to(tree.ROOT)}:{line}"
    parts = name.split("/")
    private = parts[0] in LEVELS and (tree.ROOT / "src" / name).exists()
    if private and (is_public or parts[0] != module):
        yield f"{place}: `{name}` is private to `{parts[0]}` (headers that cross a module border stand in include/)"
    if parts[0] != "trireme" or len(parts) < 3:
        return
    other = parts[1]
    if not (tree.ROOT / "include" / name).exists():
        yield f"{place}: `{name}` does not exist"
    elif other != module and other not in tree.dependencies(module):
        yield f"{place}: `{name}` is of `{other}`, which is not in the DEPENDS line of `{module}`"


def check_module(module):
    yield from check_dependencies(module)
    for folder, is_public in ((f"include/trireme/{module}", True), (f"src/{module}", False)):
        for path in tree.files(".hpp", ".cpp", ".cu", folders=(folder,)):
            for line, name in tree.includes(path):
                yield from check_include(module, path, line, name, is_public)


def main():
    built = [module for module in LEVELS if (tree.ROOT / "src" / module / "CMakeLists.txt").exists()]
    problems = [problem for module in built for problem in check_module(module)]
    for folder in sorted(path for path in (tree.ROOT / "src").iterdir() if path.is_dir() and any(path.glob("*.cpp"))):
        if folder.name not in LEVELS:
            problems.append(f"src/{folder.name}: no level (add it to src/levels.txt)")
    tree.finish(problems, f"levels of {len(built)} modules")


if __name__ == "__main__":
    main()
