#!/usr/bin/env bash
# ./dev cluster-check: runs the overlay `local` as a cluster would, without one. Each pod gets a network namespace with an
# address of its own on one bridge, the names of the Services, the environment and arguments that a kubelet would give it,
# its user and a read-only root; then k6 sends the published load, and the collector's file has to tell all of it.
#
#   deploy/check/cluster.sh HOPGAP        after `./dev package`
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/deploy/check/shell.sh"
. "$root/deploy/check/go.sh"
. "$root/deploy/check/root.sh"
. "$root/deploy/check/serving.sh"

hopgap=$(realpath "$1")
plan=$root/build/cluster
logs=$root/build/log/cluster-check
image=$roots/cluster
messages=31 # as published: 1/s for 30 s

# ---- with the network of this machine: what the pods are made of ----------------------------------------------------

prepare() {
  need_packages iproute2 procps
  need_go
  find_k6
  (cd "$root/deploy/check/collector" && go build -o "$root/build/go/collector" .)
  rm -rf "$plan" "$logs"
  mkdir -p "$logs" "$plan"
  (cd "$root/deploy/check/manifests" && go run ./cmd/plan ../../k8s/overlays/local "$plan")
  make_root "$image"
  cp "$root"/build/package/hopgap_*.deb "$image/tmp/hopgap.deb"
  enter "$image" sh -c 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install \
    --no-install-recommends /tmp/hopgap.deb' </dev/null >"$logs/image" 2>&1 || die "the package does not install: $(tail -n 5 "$logs/image")"
}

# ---- in a network namespace of our own: the cluster -----------------------------------------------------------------

declare -A address=() pid=()

# Addresses for all pods, and what /etc/hosts tells each: a Service is the address of its one pod.
make_network() {
  local workload service number=10
  ip link set lo up
  ip link add cluster type bridge
  ip address add 10.77.0.1/24 dev cluster
  ip link set cluster up
  printf '127.0.0.1 localhost\n' >"$plan/hosts"
  for workload in "$plan"/*/user; do
    workload=$(basename "${workload%/user}")
    address[$workload]=10.77.0.$((number++))
    ip netns add "$workload"
    ip link add "pod$number" type veth peer name eth0 netns "$workload"
    ip link set "pod$number" master cluster up
    ip -n "$workload" link set lo up
    ip -n "$workload" address add "${address[$workload]}/24" dev eth0
    ip -n "$workload" link set eth0 up
  done
  while read -r service workload; do
    printf '%s %s\n' "${address[$workload]}" "$service"
  done <"$plan/services" >>"$plan/hosts"
}

# pod WORKLOAD CONTAINER [OPTION…] -- COMMAND…: the command with the container's arguments, until it ends.
pod() {
  local workload=$1 container=$2 user environment arguments volume path options=()
  shift 2
  while [[ $1 != -- ]]; do options+=("$1"); shift; done
  shift
  user=$(<"$plan/$workload/user")
  mapfile -t environment <"$plan/$workload/$container/env"
  mapfile -t arguments <"$plan/$workload/$container/args"
  while read -r volume path; do
    # The cluster gives an emptyDir to the pod's group.
    [[ -n $(ls "$plan/$workload/volumes/$volume") ]] || chown "$user" "$plan/$workload/volumes/$volume"
    options+=(--bind "$plan/$workload/volumes/$volume:$path")
  done <"$plan/$workload/$container/mounts"
  enter --read-only --user "$user" --net "/run/netns/$workload" --bind "$plan/hosts:/etc/hosts" "${options[@]}" "$image" \
    env "${environment[@]}" "$@" "${arguments[@]}" >>"$logs/$workload" 2>&1
}

# restartPolicy: Always, until it is removed. A worker ends when its subscription is not there yet.
keep_pod() {
  local code
  while :; do
    code=0
    pod "$@" || code=$?
    [[ $code != 0 && ! -e $plan/$1/removed ]] || exit "$code"
    sleep 1
  done
}

start_pod() {
  keep_pod "$@" &
  pid[$1]=$!
}

# The process at the end of a line of shells and unshare.
inmost() {
  local process=$1 child
  while child=$(pgrep -P "$process" | head -n 1) && [[ -n $child ]]; do process=$child; done
  printf '%s' "$process"
}

# SIGTERM, as a cluster removes a pod; fails unless it ends with 0.
remove_pod() {
  local code=0
  touch "$plan/$1/removed"
  kill -TERM "$(inmost "${pid[$1]}")"
  wait "${pid[$1]}" || code=$?
  unset "pid[$1]"
  ((code == 0)) || die "$1 ended with $code on SIGTERM: $(tail -n 5 "$logs/$1")"
}

finish() {
  local workload
  for workload in "${!pid[@]}"; do touch "$plan/$workload/removed"; done
  for workload in "${!pid[@]}"; do kill -KILL "$(inmost "${pid[$workload]}")" 2>/dev/null || true; done
  rm -rf --one-file-system "$image"
}

# All at once, in no order, as `kubectl apply` does.
start_cluster() {
  local workload
  start_pod collector collector --bind "$root/build/go/collector:/collector" -- /collector
  for workload in worker{1,2,3}-{std,eos}; do start_pod "$workload" worker -- hopgap; done
  for workload in api-{std,eos}; do start_pod "$workload" api -- hopgap; done
  start_pod broker broker -- hopgap
  # restartPolicy: OnFailure
  within 30 pod setup setup -- hopgap || die "setup never succeeds: $(tail -n 3 "$logs/setup")"
}

await_ready() {
  local file workload
  for file in "$plan"/*/*/ready; do
    [[ -s $file ]] || continue
    workload=$(basename "$(dirname "$(dirname "$file")")")
    local target=${address[$workload]}:$(<"$file")
    [[ $target != */* ]] || target=http://$target
    "$hopgap" health --wait 30s "$target" >/dev/null || die "$workload is not ready: $(tail -n 5 "$logs/$workload")"
  done
}

# handled ARM HOP: how many callbacks the collector's file tells of.
handled() {
  local traces=$plan/collector/volumes/traces/spans.otlp.jsonl
  [[ ! -s $traces ]] || grep -oE "\"name\": ?\"$1-hop$2-sub process\"" "$traces" | wc -l
}

all_handled() {
  local arm hop
  for arm in std eos; do
    for hop in 1 2 3; do [[ $(handled "$arm" "$hop") == "$messages" ]] || return 1; done
  done
}

check_traces() {
  local arm hop counts=''
  for arm in std eos; do
    for hop in 1 2 3; do counts+=" $arm-hop$hop: $(handled "$arm" "$hop")"; done
  done
  all_handled || die "of $messages messages the traces tell of$counts"
  "$hopgap" analyze "$plan/collector/volumes/traces/spans.otlp.jsonl" >"$logs/analyze" 2>&1 ||
    die "hopgap analyze refuses the traces: $(tail -n 3 "$logs/analyze")"
}

run_cluster() {
  local workload passed=0
  pass() { say "ok: $1"; passed=$((passed + 1)); }
  trap finish EXIT
  make_network
  start_cluster
  await_ready
  pass "every pod of the overlay becomes ready by its own probe"
  pod k6 k6 --bind "$k6:/k6" -- /k6 || { tail -n 40 "$logs/k6" >&2; die "the k6 Job failed"; }
  pass "the k6 Job sends 1/s for 30 s to each chain"
  # The last message is on its way, and a worker sends spans every few seconds. What is missing is told below.
  within 30 all_handled || true
  for workload in api-{std,eos} worker{1,2,3}-{std,eos}; do remove_pod "$workload"; done
  remove_pod broker
  pass "every pod ends with 0 on SIGTERM"
  remove_pod collector
  check_traces
  pass "the collector's file tells of $messages messages at each hop of each chain, and hopgap analyze reads it"
  echo "$passed passed, 0 failed"
}

if [[ -z ${HOPGAP_IN_CLUSTER:-} ]]; then
  prepare
  # What is made in here, namespaces and bridge, ends with it.
  k6=$k6 HOPGAP_IN_CLUSTER=1 exec unshare --net --mount --pid --fork --kill-child --mount-proc "$0" "$@"
fi
mount -t tmpfs tmpfs /run
run_cluster
