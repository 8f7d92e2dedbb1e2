#!/usr/bin/env bash
# A Slurm cluster of four nodes on this machine, for tests: munged, slurmctld and four slurmd, as root, without systemd.
#
#   cluster.sh start FOLDER     brings it up; `source FOLDER/environment.sh` lets the commands of Slurm find it
#   cluster.sh kill FOLDER N    the daemon of node N and all it started die at once, as with the node's power
#   cluster.sh node FOLDER N    brings that node's daemon up (again)
#   cluster.sh stop FOLDER      ends every process that start and node began
#
# Each slurmd lives in its own mount, UTS and PID namespace: own host name, /dev/shm and /tmp, else the ranks of two "nodes" would
# share segments and PMIx's folders. So FOLDER, and all that jobs share, must lie outside of /tmp.
set -euo pipefail

readonly nodes=4
readonly first_port=17300

say() { echo "cluster.sh: $*" >&2; }

write_configuration() {
  local folder=$1
  cat > "$folder/slurm.conf" <<CONF
ClusterName=trireme
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=$((first_port))
AuthType=auth/munge
# Without cred_expire a requeued job waits two minutes for the credentials of the old one to run out.
AuthInfo=socket=$folder/munge.socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool_%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd_%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd_%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,batch_sched_delay=0,defer_batch,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=10
MessageTimeout=10
KillWait=5
MinJobAge=3600
InactiveLimit=0
MpiDefault=none
SlurmdParameters=config_overrides
NodeName=node[1-$nodes] NodeAddr=127.0.0.1 Port=$((first_port + 1))-$((first_port + nodes)) CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10
CONF
  cat > "$folder/environment.sh" <<CONF
export SLURM_CONF=$folder/slurm.conf
CONF
}

start_munged() {
  local folder=$1
  dd if=/dev/urandom of="$folder/munge.key" bs=128 count=1 status=none
  chmod 600 "$folder/munge.key"
  munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munge.pid" \
    --log-file="$folder/munge.log" --seed-file="$folder/munge.seed"
}

# A daemon in its namespaces; it takes what it started with it, since it is the first process of its own.
start_node() {
  local folder=$1 number=$2
  local tmp="$folder/tmp_$number"
  mkdir -p "$tmp" "$folder/spool_node$number"
  chmod 1777 "$tmp"
  # shellcheck disable=SC2016 # expanded by the inner shell
  SLURM_CONF="$folder/slurm.conf" setsid unshare --mount --uts --pid --fork --kill-child --mount-proc bash -c '
    set -e
    hostname "node$1"
    mount -t tmpfs -o size=1g tmpfs /dev/shm
    mount --bind "$2" /tmp
    exec slurmd -D' bash "$number" "$tmp" > "$folder/node_$number.out" 2>&1 < /dev/null &
  echo $! > "$folder/node_$number.pid"
}

end_process() {
  local file=$1 signal=$2
  [ -s "$file" ] || return 0
  kill "-$signal" "$(cat "$file")" 2> /dev/null || true
  rm -f "$file"
}

wait_for_nodes() {
  local folder=$1
  for _ in $(seq 150); do
    [ "$(sinfo --noheader --Node --partition=main --states=idle --format=%N 2> /dev/null | wc -l)" -eq "$nodes" ] && return 0
    sleep 0.2
  done
  say "the nodes are not idle after 30 s; logs lie in $folder"
  sinfo >&2 || true
  return 1
}

start() {
  local folder=$1
  mkdir -p "$folder/state"
  chmod 755 "$folder"
  write_configuration "$folder"
  # shellcheck disable=SC1091
  source "$folder/environment.sh"
  start_munged "$folder"
  slurmctld -D > "$folder/slurmctld.out" 2>&1 < /dev/null &
  echo $! > "$folder/slurmctld.shell.pid"
  for number in $(seq "$nodes"); do start_node "$folder" "$number"; done
  wait_for_nodes "$folder"
}

stop() {
  local folder=$1
  for number in $(seq "$nodes"); do end_process "$folder/node_$number.pid" KILL; done
  end_process "$folder/slurmctld.shell.pid" TERM
  end_process "$folder/munge.pid" TERM
}

[ $# -ge 2 ] || { say "use: cluster.sh start|stop FOLDER, cluster.sh kill|node FOLDER N"; exit 2; }
folder=$(realpath -m "$2")
case "$1" in
  start) start "$folder" ;;
  stop) stop "$folder" ;;
  kill) end_process "$folder/node_$3.pid" KILL ;;
  node) start_node "$folder" "$3" ;;
  *) say "\`$1\` is no command"; exit 2 ;;
esac
