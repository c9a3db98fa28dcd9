#!/usr/bin/env bash
# ./dev k6-check: the real k6 runs deploy/k6/chain.js against two real apis and our broker.
#
#   deploy/check/k6.sh HOPGAP
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/deploy/check/shell.sh"
. "$root/deploy/check/serving.sh"

hopgap=$(realpath "$1")
logs=$root/build/log/k6-check
rm -rf "$logs"
mkdir -p "$logs"
find_k6
trap 'stop_all || true' EXIT

passed=0
pass() { say "ok: $1"; passed=$((passed + 1)); }

broker=$(free_port)
# Publishing takes about 25 ms, so one VU sends at most some 30 messages a second.
start broker "$hopgap" serve --port "$broker" --profile cloud-replay
"$hopgap" health --wait 10s "127.0.0.1:$broker" >/dev/null || die "the broker does not answer: $(cat "$logs/broker")"
"$hopgap" setup --target "127.0.0.1:$broker" --project k6 --arm std --arm eos --hops 1 >"$logs/setup" 2>&1 ||
  die "setup failed: $(cat "$logs/setup")"
chains=
for arm in std eos; do
  port=$(free_port)
  start "api-$arm" "$hopgap" api --target "127.0.0.1:$broker" --topic "projects/k6/topics/$arm-hop1" \
    --listen "127.0.0.1:$port" --arm "$arm"
  "$hopgap" health --wait 10s "http://127.0.0.1:$port" >/dev/null || die "api-$arm is not ready: $(cat "$logs/api-$arm")"
  chains+=${chains:+,}$arm=http://127.0.0.1:$port/send
done

# run_k6 NAME EXPECTED-EXIT-CODE VARIABLE=VALUE…
run_k6() {
  local name=$1 expected=$2 code=0
  shift 2
  env HOME="$logs" CHAINS="$chains" "$@" "$k6" run --no-usage-report --no-color --address 127.0.0.1:0 \
    --summary-export "$logs/$name.json" "$root/deploy/k6/chain.js" >"$logs/$name" 2>&1 || code=$?
  ((code == expected)) || { tail -n 60 "$logs/$name" >&2; die "$name: k6 ended with $code and not with $expected"; }
}
# What k6 counted: iterations NAME CHAIN
iterations() {
  sed -n "/\"iterations{scenario:$2}\"/,/}/s/.*\"count\": \([0-9]*\).*/\1/p" "$logs/$1.json"
}

run_k6 sends 0 RATE=5 DURATION=3s
for arm in std eos; do
  count=$(iterations sends "$arm")
  # k6 begins one more than rate × duration if the last falls on the end.
  [[ $count == 15 || $count == 16 ]] || die "sends: $arm got '$count' messages and not 15 or 16"
done
pass "5/s for 3 s on each chain: each reply is 200, has a message id and continues the trace"

run_k6 drops 99 RATE=100 DURATION=2s VUS=1 MAX_VUS=1
grep -q "thresholds on metrics.*dropped_iterations" "$logs/drops" || die "drops: k6 does not name dropped_iterations"
pass "a message that k6 could not send in time fails the run"

run_k6 refused 99 RATE=2 DURATION=2s CHAINS="$chains,gone=http://127.0.0.1:$(free_port)/send"
grep -q "thresholds on metrics.*http_req_failed{scenario:gone}" "$logs/refused" || die "refused: k6 does not name the chain"
! grep -q "thresholds on metrics.*{scenario:std}" "$logs/refused" || die "refused: k6 blames a chain that answers"
pass "a chain that does not answer fails the run, by name"

for wrong in "RATE=1.5" "DURATION=soon" "CHAINS=http://127.0.0.1:1/send"; do
  run_k6 wrong "$([[ $wrong == DURATION* ]] && echo 104 || echo 107)" "$wrong"
done
pass "a setting that is wrong is refused"

stop_all || die "a server did not stop cleanly; logs: ${logs#"$root"/}"
pass "broker and apis stop with exit code 0"
echo "$passed passed, 0 failed"
