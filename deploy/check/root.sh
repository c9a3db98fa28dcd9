# Sourced by the checks that need a bare Debian 12: makes roots and runs commands in them. Expects $root and shell.sh.
# Needs to be root, and debootstrap, which it installs.

roots=$root/build/roots

# The tar of a bare Debian 12, made once. HOPGAP_BASE_ROOT names one that exists already.
base_root() {
  local tar=${HOPGAP_BASE_ROOT:-$roots/bookworm.tar} seed
  if [[ ! -f $tar ]]; then
    [[ -z ${HOPGAP_BASE_ROOT:-} ]] || die "HOPGAP_BASE_ROOT: there is no $tar"
    need_packages debootstrap
    say "making a bare Debian 12 root with debootstrap"
    mkdir -p "$roots" "$root/build/log"
    seed=$(mktemp -d "$roots/seed.XXXXXX")
    # shellcheck disable=SC2046 # no mirror is no argument: debootstrap knows one
    debootstrap --variant=minbase --include=ca-certificates bookworm "$seed" $(debian_mirror) \
      >"$root/build/log/debootstrap" 2>&1 || { tail -n 5 "$root/build/log/debootstrap" >&2; die "debootstrap failed"; }
    tar -C "$seed" -cf "$tar.part" . && mv "$tar.part" "$tar"
    rm -rf --one-file-system "$seed"
  fi
  printf '%s' "$tar"
}

# make_root PLACE: a bare Debian 12 there, which reaches the network as this machine does.
make_root() {
  local place=$1 tar file
  ((EUID == 0)) || die "only root can make a root"
  tar=$(base_root)
  rm -rf --one-file-system "$place"
  mkdir -p "$place"
  tar -C "$place" -xf "$tar"
  chmod 755 "$place" # the tar may have it from a private folder
  for file in /etc/resolv.conf /etc/hosts; do [[ ! -e $file ]] || cp -L "$file" "$place$file"; done
  mkdir -p "$place/etc/ssl/certs" "$place/etc/apt/apt.conf.d"
  cp -aL /etc/ssl/certs/. "$place/etc/ssl/certs/" 2>/dev/null || true
  cp -aL /etc/apt/apt.conf.d/. "$place/etc/apt/apt.conf.d/" 2>/dev/null || true
}

# enter [--read-only] [--user UID:GID] [--bind FROM:TO]… [--net FILE] PLACE COMMAND…: runs the command in the root at
# PLACE, as its process 1, with mounts that vanish with it, and the network of this machine or of that namespace.
# Environment: PATH, HOME, and what `env` gives before the command.
enter() {
  local read_only=0 user=0:0 binds=() network=()
  while [[ $1 == --* ]]; do
    case $1 in
      --read-only) read_only=1 ;;
      --user) user=$2; shift ;;
      --net) network=(nsenter "--net=$2"); shift ;;
      --bind) binds+=("$2"); shift ;;
    esac
    shift
  done
  local place=$1
  shift
  READ_ONLY=$read_only PLACE=$place BINDS="${binds[*]-}" "${network[@]}" unshare --mount --pid --fork --kill-child=SIGTERM bash -c '
    set -e
    mount --rbind "$PLACE" "$PLACE"
    mount -t proc proc "$PLACE/proc"
    mount --rbind /dev "$PLACE/dev"
    for bind in $BINDS; do
      from=${bind%%:*} to=$PLACE${bind#*:}
      if [[ -d $from ]]; then mkdir -p "$to"; else mkdir -p "${to%/*}" && touch "$to"; fi
      mount --bind "$from" "$to"
    done
    ((!READ_ONLY)) || mount -o remount,bind,ro "$PLACE"
    place=$PLACE user=$1
    shift
    exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
      chroot --userspec="$user" --groups="" "$place" "$@"' bash "$user" "$@"
}

# finished COMMAND…: a run that ended in peace. On a busy machine its verdict may be invalid (exit code 2), which is about
# the machine and not about what is checked here.
finished() {
  local code=0
  "$@" || code=$?
  ((code == 0 || code == 2))
}
