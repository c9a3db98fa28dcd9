#!/usr/bin/env bash
# ./dev package-check: installs the .deb of build/package in a bare Debian 12, runs the default experiment there as a user
# without rights, removes it and looks for what is left; then unpacks the tarball in another, where nothing is installed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/deploy/check/shell.sh"
. "$root/deploy/check/root.sh"

package=$(ls "$root"/build/package/hopgap_*.deb) || die "no package: ./dev package makes it"
tarball=$(ls "$root"/build/package/hopgap-*.tar.gz)
bare=$root/build/roots/package-check
trap 'rm -rf --one-file-system "$bare"' EXIT
passed=0
pass() { say "ok: $1"; passed=$((passed + 1)); }

nobody=65534:65534
experiment=(env HOME=/tmp hopgap run --no-out)
# inside COMMAND…: with its output in the log, shown if it fails.
log=$root/build/log/package-check
inside() { enter "$bare" "$@" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "failed in the bare root: $*"; }; }
ran_well() { grep -q 'eos' "$log" || { cat "$log" >&2; die "the run printed no table"; }; }
# What packaging may leave behind of its own: lists, caches, logs and its database.
files() {
  (cd "$bare" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./sys -o -path ./var/lib/apt -o -path ./var/lib/dpkg \
    -o -path ./var/cache -o -path ./var/log -o -path ./tmp -o -path ./run -o -path ./etc/ld.so.cache \) -prune -o -print) | sort
}

mkdir -p "$root/build/log"
make_root "$bare"
cp "$package" "$bare/tmp/hopgap.deb"
inside apt-get -qq update
files >"$log.before"
inside env DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends /tmp/hopgap.deb
inside dpkg --verify hopgap
[[ ! -s $log ]] || die "dpkg --verify: $(cat "$log")"
pass "the package installs in a bare Debian 12, with the libraries it names and nothing else"
finished enter --user "$nobody" "$bare" "${experiment[@]}" >"$log" 2>&1 || { tail -n 30 "$log" >&2; die "the run failed"; }
ran_well
pass "the experiment runs there, as nobody"
inside sh -c 'zcat /usr/share/man/man1/hopgap.1.gz'
grep -q '^\.SH HOPGAP RUN' "$log" || die "the manual page does not tell of 'run'"
inside env DEBIAN_FRONTEND=noninteractive apt-get -qq -y purge --auto-remove hopgap
files >"$log.after"
diff "$log.before" "$log.after" >"$log" || { cat "$log" >&2; die "removing it did not restore what was there"; }
pass "removing it leaves nothing"

make_root "$bare"
tar -C "$bare/opt" -xzf "$tarball"
program=/opt/$(basename "$tarball" .tar.gz)/bin/hopgap
experiment[2]=$program
finished enter --user "$nobody" "$bare" "${experiment[@]}" >"$log" 2>&1 || { tail -n 30 "$log" >&2; die "the tarball's program failed"; }
ran_well
inside ldd "$program"
! grep -E 'not found' "$log" || die "the tarball lacks a library"
pass "the tarball runs in a bare Debian 12 without installing anything"
echo "$passed passed, 0 failed"
