#!/usr/bin/env bash
# Installs, by apt, every Debian 12 package that Trireme uses; those that are there are left alone.
#
#   tools/setup_debian.sh                     everything: build, tests, format, plots, a small Slurm
#   tools/setup_debian.sh --build-only        what the executable and the quick start need
set -euo pipefail

build_packages=(
  g++ cmake ninja-build git
  libopenmpi-dev openmpi-bin       # ranks
  libhdf5-dev hdf5-tools           # datasets and checkpoints; h5dump looks into them
  libtrilinos-kokkos-dev           # portable kernels
  libdnnl-dev ocl-icd-opencl-dev   # host GEMM; its CMake package looks for OpenCL, which Debian only recommends
  libtomlplusplus-dev libcli11-dev # deck, command line
  libspdlog-dev libfmt-dev         # log, messages
  nlohmann-json3-dev               # metrics
  libxxhash-dev                    # checksums
  libsentencepiece-dev             # tokenizer
)
quick_start_packages=(bible-kjv python3 python3-matplotlib)
test_packages=(
  libgtest-dev libgmock-dev
  clang-format
  python3-h5py                     # reads checkpoints without Trireme
  slurm-wlm munge                  # batch jobs on this machine
  strace                           # what reaches the disk
)

packages=("${build_packages[@]}" "${quick_start_packages[@]}")
case "${1:-}" in
  --build-only) ;;
  "") packages+=("${test_packages[@]}") ;;
  *) echo "setup_debian.sh: \`$1\` is no option (there is --build-only)" >&2; exit 2 ;;
esac

is_installed() {
  [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo > /dev/null || {
    echo "setup_debian.sh: packages are missing (${missing[*]}) run it as root, or use tools/spack.yaml without root" >&2
    exit 2
  }
  as_root=(sudo)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o=Dpkg::Use-Pty=0 "$@" > "$log" 2>&1 || fail; }
fail() { cat "$log" >&2; echo "setup_debian.sh: apt-get failed, see above" >&2; exit 3; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT

echo "installing ${#missing[@]} packages: ${missing[*]}"
apt update
apt install --yes --no-install-recommends "${missing[@]}"
echo "installed"
