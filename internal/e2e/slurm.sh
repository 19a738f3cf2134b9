#!/usr/bin/env bash
# Runs a study as an array job of a real Slurm on this machine, and disturbs it: elements are killed
# and requeued, a node is drained, the controller is killed and started again. The collected answers
# must be those of vti study run --jobs 2, byte for byte.
#
#     internal/e2e/slurm.sh PATH-OF-VTI
#
# TASKS is their number, 200 unless it is set; PATIENCE multiplies the times that it waits.
# Debian's slurmctld, slurmd and munge are installed if they are not there and this user can; where
# they cannot be had, the script says so and succeeds. It starts its own daemons, on ports and in a
# folder of their own, without systemd and control groups, and ends them.
set -euo pipefail

vti=$(readlink -f "${1:?want the path of vti}")
tasks=${TASKS:-200}
nodes=4

skip() { echo "skipped: $*"; exit 0; }

for program in slurmctld slurmd munged; do
	if ! PATH="$PATH:/usr/sbin" command -v "$program" >/dev/null; then
		[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "$program is not installed, and only root on Debian can install it here"
		{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends slurmctld slurmd slurm-client munge; } >/dev/null 2>&1 ||
			skip "slurmctld, slurmd and munge cannot be installed here"
		break
	fi
done
[ "$(id -u)" = 0 ] || skip "daemons of Slurm start the jobs of users, which needs root"
PATH="$PATH:/usr/sbin"

work=$(mktemp -d)
chmod 755 "$work"
export SLURM_CONF="$work/slurm.conf"
daemons=()
# processes TEXT: those with a text, which names the folder of this script, on the command line
processes() { pgrep -f "$1" | grep -vx $$ || true; }
finish() {
	status=$?
	if [ "$status" != 0 ]; then tail -n 5 "$work"/*.log || true; squeue || true; sinfo || true; fi
	scancel --user=root --signal=KILL 2>/dev/null || true
	for pid in "${daemons[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
	exec 2>/dev/null
	processes "$work" | xargs -r kill -9 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$work" || true
	exit "$status"
}
trap finish EXIT
trap 'exit 143' TERM

# --- daemons
mkdir -m 755 "$work/munge" "$work/state"
head -c 1024 /dev/urandom >"$work/munge/key"
chmod 400 "$work/munge/key"
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
	--seed-file="$work/munge/seed" --log-file="$work/munge/munged.log" >"$work/munged.log" 2>&1 &
daemons+=($!)
port=$((20000 + RANDOM % 10000))
cat >"$SLURM_CONF" <<CONF
ClusterName=e2e
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0,bf_interval=2
ReturnToService=2
KillWait=1
MinJobAge=600
NodeName=n[1-$nodes] NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + nodes))] CPUs=1 RealMemory=4000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
controller() {
	slurmctld -D "$@" >>"$work/slurmctld.out.log" 2>&1 &
	controller=$!
	daemons+=("$controller")
}
controller -c
for i in $(seq $nodes); do
	mkdir -p "$work/spool-n$i"
	slurmd -D -N "n$i" >"$work/slurmd-n$i.out.log" 2>&1 &
	daemons+=($!)
done
patience() { # patience SECONDS COMMAND...: until it succeeds
	local end=$((SECONDS + $1 * ${PATIENCE:-1}))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "waited in vain for: $*"; return 1; }
		sleep 0.3
	done
}
ready() { [ "$(sinfo -h -t idle,alloc,mix -N | wc -l)" = "$nodes" ]; }
patience 40 ready
echo "$nodes nodes after $SECONDS s"

# --- one study twice
for copy in here cluster; do
	mkdir "$work/$copy"
	cat >"$work/$copy/plan.toml" <<PLAN
command = "exact"
seed = 11
[simulate]
problem = "varsel"
seeds = $((tasks / 2))
flags = {predictors = 4, effects = 2, rows = 40}
[flags]
target = "y"
[grid]
prior-sd = [0.5, 1.5]
PLAN
done
cd "$work/cluster"
submit() { "$vti" study submit plan.toml --slurm --chunks "$tasks" --mem 200 --time 10m; }
job=$(submit | awk '{print $NF}')
echo "$tasks elements of array job $job"
count() { "$vti" study status plan.toml --json | awk -F'[:,]' -v key="\"$1\"" '$1 ~ key {print $2 + 0; exit}'; }
enough() { [ "$(count done)" -ge "$1" ]; }

patience 100 enough $((tasks / 10))
echo "at $(count done) tasks: elements are requeued, and workers killed"
for element in $(squeue -h -r -t running -j "$job" -o %i | head -n 2); do scontrol requeue "$element"; done
sleep 1
processes "study run $work/cluster/plan.toml" | xargs -r kill -9 || true
patience 60 enough $((3 * tasks / 10))
echo "at $(count done) tasks: a node is drained"
scontrol update nodename=n2 state=drain reason=e2e
patience 100 enough $((tasks / 2))
echo "at $(count done) tasks: the controller is restarted, and workers are killed"
kill "$controller"
wait "$controller" || true
controller
patience 30 scontrol ping
processes "study run $work/cluster/plan.toml" | xargs -r kill -9 || true
idle() { [ -z "$(squeue -h -r)" ]; }
# The controller can miss the end of an element while it is down, and believe that it runs for minutes.
patience 100 idle || scancel "$job"
patience 20 idle
echo "after $SECONDS s the array has ended with $(count done) tasks done, $(count missing) missing"
scontrol update nodename=n2 state=resume
if [ "$(count missing)" != 0 ]; then # workers that were killed: the study is submitted again
	submit
	patience 60 idle
fi
[ "$(count done)" = "$tasks" ] || { "$vti" study status plan.toml; exit 1; }

cd "$work/here"
"$vti" study run plan.toml --jobs 2 --quiet
for copy in here cluster; do
	(cd "$work/$copy" && "$vti" study collect plan.toml --out results.parquet --quiet >/dev/null && rm results.costs.parquet)
done
for file in results*.parquet; do cmp "$file" "$work/cluster/$file"; done
(cd plan.study/tasks; find . -name task.json -exec sha256sum {} + | sort) >"$work/here.sums"
(cd "$work/cluster/plan.study/tasks"; find . -name task.json -exec sha256sum {} + | sort) >"$work/cluster.sums"
cmp "$work/here.sums" "$work/cluster.sums"
[ "$(wc -l <"$work/cluster.sums")" = "$tasks" ]
echo "$tasks tasks, none lost, none doubled; tables and records equal those of --jobs 2 byte for byte, after $SECONDS s"
