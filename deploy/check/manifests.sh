#!/usr/bin/env bash
# ./dev deploy-check: renders deploy/k8s with kustomize and checks it against Kubernetes' published schema, our rules and
# the help of the program that is given; then the compose file, the collector's configurations and examples/ci.
#
#   deploy/check/manifests.sh HOPGAP
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/deploy/check/shell.sh"
. "$root/deploy/check/go.sh"
. "$root/deploy/check/serving.sh"

program=$(realpath "$1")
mkdir -p "$root/build/log"
need_go
# One file of this module is read, nothing of it is compiled.
kubernetes=k8s.io/kubernetes@v1.35.0
schema=$(cd "$root/build" && go mod download -json "$kubernetes" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')/api/openapi-spec/swagger.json
[[ -f $schema ]] || die "$kubernetes has no api/openapi-spec/swagger.json"
(cd "$root/deploy/check/manifests" && HOPGAP_PROGRAM=$program HOPGAP_KUBERNETES_SCHEMA=$schema go test -count=1 ./...)
# The collector's own decoding of its configurations; what it does not know is an error.
collector=$root/build/go/collector
(cd "$root/deploy/check/collector" && go build -o "$collector" .)
for configuration in "$root"/deploy/otel/*/collector.yaml; do
  "$collector" validate --config "$configuration" || die "the collector refuses $configuration"
  sed 's/check_interval/check_intervals/' "$configuration" >"$root/build/log/planted.yaml"
  ! "$collector" validate --config "$root/build/log/planted.yaml" >/dev/null 2>&1 || die "a planted fault was not found"
done
say "ok: the collector's configurations"
"$(go_tool github.com/rhysd/actionlint/cmd/actionlint@v1.7.8)" "$root/examples/ci/workflow.yaml"
say "ok: the workflow of examples/ci"

# The example's test, against a broker of ours: all of it but the container that it would start.
logs=$root/build/log/deploy-check
mkdir -p "$logs"
trap 'stop_all || true' EXIT
port=$(free_port)
start broker "$program" serve --port "$port"
"$program" health --wait 10s "127.0.0.1:$port" >/dev/null || die "the broker does not answer: $(cat "$logs/broker")"
(cd "$root/examples/ci/testcontainers-go" && go vet ./... && PUBSUB_EMULATOR_HOST=127.0.0.1:$port go test -count=1 ./...)
stop_all || die "the broker did not stop cleanly"
