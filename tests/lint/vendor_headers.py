"""The headers of other projects stay in their rooms; public headers show none but the standard library's."""

import re

import tree

# What is included, and the folders (of src/) that may.
ROOMS = [
    (r"Kokkos_.*", ("device", "kernels")),
    (r"mpi\.h", ("comm/mpi",)),
    (r"nccl\.h", ("comm/nccl",)),
    (r"(cuda|cublas).*", ("device", "kernels/cuda", "comm/nccl")),
    (r"(oneapi/)?dnnl.*", ("kernels/host",)),
    (r"omp\.h", ("kernels/host",)),
    (r"(hdf5|H5[A-Za-z]*public)\.h", ("hdf5",)),
    (r"toml(\+\+|plusplus)?/.*|toml\.hpp", ("config",)),
    (r"xxhash\.h|xxh3\.h", ("io",)),
    (r"spdlog/.*", ("base",)),
    (r"sentencepiece.*", ("text",)),
]


def check(path, line, name):
    place = f"{path.relative_to(tree.ROOT)}:{line}"
    for pattern, rooms in ROOMS:
        if not re.fullmatch(pattern, name):
            continue
        inside = path.relative_to(tree.ROOT).as_posix()
        if not any(inside.startswith(f"src/{room}/") for room in rooms):
            yield f"{place}: `{name}` outside of its room (only {', '.join('src/' + room for room in rooms)})"


def main():
    sources = tree.files(".hpp", ".cpp", ".cu", folders=("include", "src"))
    problems = [p for path in sources for line, name in tree.includes(path) for p in check(path, line, name)]
    tree.finish(problems, f"vendor headers of {len(sources)} files")


if __name__ == "__main__":
    main()
