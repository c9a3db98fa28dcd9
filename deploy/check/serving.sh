# Sourced by the checks that start our servers: free ports, and an end for all that was started.

started=()

# start NAME COMMAND…: in the background, with its output in $logs/NAME. $logs is set by who sources this.
start() {
  local name=$1
  shift
  "$@" >"$logs/$name" 2>&1 &
  started+=($!)
}

# SIGTERM to all that was started; fails if one of them did not end with 0.
stop_all() {
  local pid bad=0
  for pid in "${started[@]}"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" || { say "process $pid ended with $?"; bad=1; }
  done
  started=()
  return $bad
}

free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { printf '%s' "$port"; return; }
  done
}

# within SECONDS COMMAND…: tries the command until it succeeds.
within() {
  local until=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < until)) || return 1
    read -rt 0.1 <> <(:) || true # a short sleep without a process
  done
}
