# Sourced by the scripts of this folder. Expects $root, the checkout.

say() { printf '%s\n' "$*" >&2; }
die() { say "$(basename "$0"): $*"; exit 1; }

# The mirror that this machine's apt uses for Debian 12; nothing if there is none.
debian_mirror() {
  # shellcheck disable=SC2016 # apt's variables
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
    awk '$2 == "bookworm" || $2 == "stable" { print $1; exit }'
}

# need_packages PACKAGE…: installs those that are missing.
need_packages() {
  local package missing=()
  command -v dpkg-query >/dev/null || die "this needs Debian 12, with: $*"
  for package; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  ((EUID == 0)) || die "as root: apt-get install --no-install-recommends ${missing[*]}"
  say "installing ${missing[*]}"
  mkdir -p "$root/build/log"
  { apt-get -qq -o DPkg::Lock::Timeout=300 update &&
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "${missing[@]}"; } \
    </dev/null >"$root/build/log/packages" 2>&1 || { tail -n 5 "$root/build/log/packages" >&2; die "installing failed"; }
}

# Sets k6 to the program to use.
find_k6() { k6=$("$root/deploy/check/k6_program") || exit 1; }
