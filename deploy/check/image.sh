#!/usr/bin/env bash
# ./dev image-check: builds the image's root from the Dockerfile's own steps, without a container engine, and runs the
# program in it as an engine would: as process 1, as the image's user, on a read-only root, in a network of its own.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/deploy/check/shell.sh"
. "$root/deploy/check/root.sh"
. "$root/deploy/check/serving.sh"
. "$root/deploy/check/dockerfile.sh"

log=$root/build/log/image-check
mkdir -p "$root/build/log"
: >"$log"
need_packages iproute2 procps
network=0 server=0 process=0
finish() {
  ((!server || !process)) || kill -KILL "$process" 2>/dev/null || true
  ((!network)) || kill "$network" 2>/dev/null || true
  rm -rf --one-file-system "$roots"/image-*
}
trap finish EXIT
passed=0
pass() { say "ok: $1"; passed=$((passed + 1)); }
# Without what apt keeps in a root and the image throws away.
megabytes() { du -sm --one-file-system --exclude=var/lib/apt --exclude=var/cache --exclude=var/log "$1" | cut -f1; }

# A Dockerfile that this cannot follow is refused, line by line.
refuses() {
  printf '%s\n' "$1" >"$log.dockerfile"
  ! (make_root() { mkdir -p "$1"; }; run_dockerfile "$log.dockerfile") >/dev/null 2>&1 || die "accepted: $1"
}
for line in 'FROM alpine' $'FROM debian:bookworm-slim\nADD x y' $'FROM debian:bookworm-slim\nRUN --network=none true' \
  $'FROM debian:bookworm-slim\nRUN --mount=type=secret,id=x true' $'FROM debian:bookworm-slim\nCOPY --chown=1:1 . .' \
  $'FROM debian:bookworm-slim\nUSER root' $'FROM debian:bookworm-slim\nENTRYPOINT hopgap' '# escape=`' 'WORKDIR /x'; do
  refuses "$line"
done
pass "what the check does not know in a Dockerfile is refused"

run_dockerfile "$root/Dockerfile"
make_root "$roots/image-bare"
bare=$(megabytes "$roots/image-bare") whole=$(megabytes "$image")
((whole - bare < 60)) || die "the image adds $((whole - bare)) MB to Debian's"
pass "the Dockerfile's steps build an image that adds $((whole - bare)) MB to Debian's"
[[ ! -e $image/source && -z $(find "$image/package" "$image/var/lib/apt/lists" -type f 2>/dev/null) ]] ||
  die "the image holds what it was built from"

rm -f "$log.network"
unshare --net sh -c "ip link set lo up && touch '$log.network' && exec sleep infinity" &
network=$!
within 5 test -e "$log.network" || die "no network namespace can be made here"
# in_image COMMAND…: as the image's user, beside the server.
in_image() { enter --user "$user" --net "/proc/$network/ns/net" "$image" env HOME=/tmp "$@" >>"$log" 2>&1; }

# The server's own process is at the end of a line of shells and unshare.
started_program() {
  local child
  process=$server
  while child=$(pgrep -P "$process" | head -n 1) && [[ -n $child ]]; do process=$child; done
  [[ $(readlink "/proc/$process/exe") == *"${entrypoint[0]}" ]]
}

enter --read-only --user "$user" --net "/proc/$network/ns/net" "$image" "${entrypoint[@]}" "${command[@]}" >>"$log" 2>&1 &
server=$!
within 10 started_program || die "the program did not start: $(tail -n 5 "$log")"
within 10 in_image "${health[@]}" || { tail -n 20 "$log" >&2; die "the image's HEALTHCHECK never succeeds"; }
pass "the image's command serves on a read-only root, and its HEALTHCHECK says so"

grep -q "^Uid:	${user%:*}	${user%:*}	${user%:*}	" "/proc/$process/status" || die "it does not run as $user"
[[ $(sed -n 's/^NSpid:.*\t//p' "/proc/$process/status") == 1 ]] || die "it is not process 1"
finished in_image "${entrypoint[@]}" run --target "127.0.0.1:$exposed" --messages 3 --rate 5 --work 0ms --no-out ||
  { tail -n 20 "$log" >&2; die "the experiment failed against it"; }
pass "as process 1 and user $user it takes the experiment on the port that the image exposes"

kill -TERM "$process"
code=0
wait "$server" || code=$?
server=0
((code == 0)) || die "SIGTERM to process 1 ended it with $code"
! in_image "${health[@]}" || die "HEALTHCHECK succeeds though nothing runs"
pass "SIGTERM to process 1 stops it with 0, and HEALTHCHECK notices"
echo "$passed passed, 0 failed"
