#!/usr/bin/env bash
# Checks what vti study submit --kubernetes writes, without a cluster: the manifest against the
# published schemas of several versions of Kubernetes, and the indices of the Job in an empty root
# like that of the container, in random order, with kills and second runs. The records must be
# those of vti study run --jobs 2, byte for byte.
#
#     internal/e2e/kubernetes.sh PATH-OF-VTI
#
# vti must be a static binary (CGO_ENABLED=0). The schemas come with the Python package
# kubernetes-validate; where it cannot be had, or the user is not root, the script says so and skips
# that part.
set -euo pipefail

vti=$(readlink -f "${1:?want the path of vti}")
RANDOM=1
tasks=24 shards=6
work=$(mktemp -d)
trap 'status=$?; [ $status = 0 ] || cat "$work/pod.log"; rm -rf "$work"; exit $status' EXIT

for copy in here root/study; do
	mkdir -p "$work/$copy"
	cat >"$work/$copy/plan.toml" <<PLAN
command = "exact"
seed = 12
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
cd "$work/here"

# --- the manifest
"$vti" study submit plan.toml --kubernetes --print --chunks $shards --mem 200 --time 10m --claim data --image "registry.example/vti:1" >job.yaml
if python3 -m venv "$work/python" >/dev/null 2>&1 && "$work/python/bin/pip" install -q kubernetes-validate==1.37.0 >/dev/null 2>&1; then
	validate() { "$work/python/bin/kubernetes-validate" --strict -k "$1" "$2"; }
	for version in 1.29 1.33 1.37; do validate $version job.yaml; done
	sed 's/backoffLimitPerIndex/backoffPerIndex/' job.yaml >broken.yaml
	if validate 1.37 broken.yaml 2>/dev/null >&2; then echo "a manifest with an unknown field passed"; exit 1; fi
else
	echo "skipped: the schemas (Python package kubernetes-validate) cannot be had here"
fi

# --- the indices
"$vti" study run plan.toml --jobs 2 --quiet
root="$work/root"
cp "$vti" "$root/vti"
mkdir -p "$root/proc" "$root/dev" # which a container runtime provides
mknod -m 666 "$root/dev/null" c 1 3 2>/dev/null || true
if ! unshare --mount sh -c "mount -t proc proc '$root/proc' && chroot '$root' /vti version" >/dev/null 2>&1; then
	echo "skipped: no root of its own for the container (unshare and chroot need a privileged user, and vti CGO_ENABLED=0)"
	exit 0
fi
pod() { # pod INDEX SECONDS: as the Job starts it; killed after so many seconds
	(exec 2>/dev/null # the shell tells of processes that are killed
	timeout --signal=KILL "$2" unshare --mount --pid --fork --kill-child sh -c \
		"mount -t proc proc '$root/proc' && JOB_COMPLETION_INDEX=$1 exec chroot '$root' /vti study run /study/plan.toml --shards $shards --jobs 1 --quiet" >"$work/pod.log" 2>&1)
}
kills=0
for round in 1 2; do
	for index in $(seq 0 $((shards - 1)) | shuf --random-source=<(yes $round)); do
		pod "$index" "0.$((RANDOM % 9 + 1))" || kills=$((kills + 1))
	done
done
for index in $(seq 0 $((shards - 1)) | shuf --random-source=<(yes 3)); do pod "$index" 300; done
sums() { (cd "$1/plan.study/tasks" && find . -name task.json -exec sha256sum {} + | sort); }
diff <(sums "$work/here") <(sums "$root/study")
[ "$(sums "$root/study" | wc -l)" = $tasks ]
echo "$tasks tasks in $shards indices, $kills pods killed: records equal those of --jobs 2 byte for byte"
