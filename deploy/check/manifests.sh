#!/usr/bin/env bash
# ./dev deploy-check: renders deploy/k8s with kustomize and checks it against Kubernetes' published schema, our rules and
# the help of the program that is given; then the compose file, the workflow and the example in Go.
#
#   deploy/check/manifests.sh HOPGAP
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/deploy/check/shell.sh"
. "$root/deploy/check/go.sh"

program=$(realpath "$1")
mkdir -p "$root/build/log"
need_go
# One file of this module is read, nothing of it is compiled.
kubernetes=k8s.io/kubernetes@v1.35.0
schema=$(cd "$root/build" && go mod download -json "$kubernetes" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')/api/openapi-spec/swagger.json
[[ -f $schema ]] || die "$kubernetes has no api/openapi-spec/swagger.json"
cd "$root/deploy/check/manifests"
HOPGAP_PROGRAM=$program HOPGAP_KUBERNETES_SCHEMA=$schema go test -count=1 ./...
