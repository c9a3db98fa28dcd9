# Sourced by the checks that use Go: finds or installs it, and installs the tools they drive. Expects $root
# and shell.sh.
#
# Debian 12's own Go is 1.19, and what is checked here needs a newer one. bookworm-backports has 1.23, and from 1.21 on
# Go fetches the version that a module asks for by itself, as a module.

# Modules are compiled one at a time if HOPGAP_JOBS says so.
export GOTOOLCHAIN=auto GOFLAGS="-p=${HOPGAP_JOBS:-$(nproc)}"

go_is_new_enough() {
  local version
  version=$(go version 2>/dev/null) || return 1
  [[ $version =~ go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 21))
}

need_go() {
  PATH=$PATH:/usr/local/go/bin
  ! go_is_new_enough || return 0
  local by_hand="install Go 1.21 or newer and put it into PATH"
  command -v apt-get >/dev/null && ((EUID == 0)) || die "$by_hand (as root on Debian 12 this is done for you)"
  # The mirror that this machine uses already, with another suite.
  local mirror list=/etc/apt/sources.list.d/backports-for-go.list
  mirror=$(debian_mirror)
  [[ -n $mirror ]] || die "no Debian mirror in the apt sources; $by_hand"
  say "installing Go from bookworm-backports (adds $list)"
  echo "deb $mirror bookworm-backports main" >"$list"
  { apt-get -qq -o DPkg::Lock::Timeout=300 update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 install --no-install-recommends \
    golang-go/bookworm-backports golang-src/bookworm-backports ca-certificates; } >"$root/build/log/go" 2>&1 ||
    { tail -n 5 "$root/build/log/go" >&2; die "Go could not be installed; $by_hand"; }
  go_is_new_enough || die "bookworm-backports gave $(go version); $by_hand"
}

# go_tool MODULE/PACKAGE@VERSION: builds it once, to build/go/NAME-VERSION; prints where it is.
go_tool() {
  local package=$1 name version place
  name=$(basename "${package%@*}") version=${package##*@}
  place=$root/build/go/$name-$version
  if [[ ! -x $place ]]; then
    say "building $name $version"
    mkdir -p "$root/build/go/bin"
    GOBIN=$root/build/go/bin go install "$package" >&2 || die "$package could not be built"
    mv "$root/build/go/bin/$name" "$place"
  fi
  printf '%s' "$place"
}
