#!/bin/bash
# One job on two hosts with a 1 Gbit/s network between them, on a single machine: two network namespaces joined by a
# pair of virtual Ethernet devices, each with its own host name, /dev/shm and temporary folder, so that nothing but TCP
# leads from one to the other.
#
#   TRIREME=build/release/trireme tests/hosts/two_hosts.sh [width]
#
# Checks that a 1x2x2 grid gives the same bits however its ranks lie on the hosts, and that the recommended order
# (tensor within a host, pipeline between hosts) is the faster one; that reducing gradients beneath the backward pass
# hides at least half of their way over the network (of one micro-batch a rank: earlier ones have nothing to send); that
# the ranks of a host share a file of a checkpoint where they are told to.
# Needs root, `ip netns`, `tc` and Open MPI. Exit code 77 (skipped) where these are not permitted.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
trireme=$(realpath "${TRIREME:-$here/../../build/release/trireme}")
python=${PYTHON:-/usr/bin/python3}
width=${1:-256}
id=$$
first=trireme-a-$id second=trireme-b-$id
first_address=10.213.77.1 second_address=10.213.77.2
work=$(mktemp -d /tmp/trireme_hosts.XXXXXX)

clean_up() {
  ip netns del "$first" 2>/dev/null || true
  ip netns del "$second" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT

join_hosts() {
  ip netns add "$first" && ip netns add "$second" || return
  ip link add eth0 netns "$first" type veth peer name eth0 netns "$second" || return
  set -- "$first_address" "$second_address"
  for host in "$first" "$second"; do
    ip -n "$host" link set lo up
    ip -n "$host" address add "$1/24" dev eth0
    ip -n "$host" link set eth0 up
    # The largest burst is a fraction of a message, and no packet is lost.
    tc -n "$host" qdisc add dev eth0 root tbf rate 1gbit burst 256kb limit 16mb || return
    shift
  done
}
if ! join_hosts >"$work/join.log" 2>&1; then
  echo "skipped: no network namespaces here ($(tail -1 "$work/join.log"))"
  exit 77
fi

# What Open MPI calls instead of ssh: `on_host ADDRESS COMMAND...`.
cat >"$work/on_host" <<AGENT
#!/bin/sh
host=$first
[ "\$1" = $second_address ] && host=$second
shift
mkdir -p "$work/\$host"
export TMPDIR="$work/\$host"
exec ip netns exec "\$host" unshare --mount --uts sh -c '
  hostname "\$0" && mount -t tmpfs tmpfs /dev/shm && eval "exec \$*"' "\$host" "\$@"
AGENT
chmod +x "$work/on_host"

# on_hosts RANKS ORDER COMMAND...: ORDER `slot` fills one host after the other, `node` deals ranks out.
on_hosts() {
  ranks=$1 order=$2
  shift 2
  timeout 180 "$work/on_host" "$first_address" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun \
    -n "$ranks" --host "$first_address:2,$second_address:2" --map-by "$order" --bind-to none \
    --mca plm rsh --mca plm_rsh_agent "$work/on_host" --mca oob_tcp_if_include eth0 \
    --mca btl self,vader,tcp --mca btl_tcp_if_include eth0 --mca mpi_yield_when_idle 1 \
    -x OMP_NUM_THREADS=1 "$@"
}

# train NAME RANKS ORDER GRID [WORDS...]: a run of the deck in the folder NAME.
train() {
  name=$1 ranks=$2 order=$3 data=${4%%x*} tensor=${4#*x} pipeline=${4##*x}
  tensor=${tensor%x*}
  shift 4
  if ! on_hosts "$ranks" "$order" "$trireme" train "$work/deck.toml" "run.output=$work/$name" "grid.data=$data" \
    "grid.tensor=$tensor" "grid.pipeline=$pipeline" "$@" >"$work/$name.log" 2>&1; then
    cat "$work/$name.log"
    echo "failed: $name"
    exit 1
  fi
  grep "hosts with" "$work/$name.log" >/dev/null || { cat "$work/$name.log"; echo "failed: not two hosts"; exit 1; }
}

cat >"$work/deck.toml" <<DECK
[run]
output = "unused"
steps = 5
[model]
layers = 8
width = $width
heads = 8
context = 256
vocab = 512
[data]
train = ["$work/tokens.h5"]
[batch]
global = 8
micro = 1
[numerics]
grid_invariant = true
[metrics]
trace_steps = 5
DECK
"$python" -c "import numpy; numpy.save('$work/tokens.npy', numpy.random.default_rng(1).integers(0, 512, 256 * 40 + 1).astype('int32'))"
"$trireme" prepare "$work/tokens.h5" "$work/tokens.npy" --tokenizer ids --vocab 512 >/dev/null

train recommended 4 slot 1x2x2
train reverse 4 node 1x2x2 checkpoint.ranks_per_file=node
num_shards=$(ls "$work"/reverse/checkpoints/step_00000005/shard_*.h5 | wc -l)
[ "$num_shards" = 2 ] || { echo "failed: $num_shards shards of two hosts"; exit 1; }
sed -n 2,3p "$work/recommended.log"
cut -f 1-5 "$work/reverse/grid.tsv"
"$trireme" checkpoint diff "$work/recommended" "$work/reverse" | tail -1
train beneath 2 node 2x1x1 batch.micro=4
train after 2 node 2x1x1 batch.micro=4 comm.overlap=false
"$trireme" checkpoint diff "$work/beneath" "$work/after" >/dev/null
"$python" "$here/judge.py" "$work/recommended" "$work/reverse" "$work/beneath" "$work/after"
