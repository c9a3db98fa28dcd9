#!/usr/bin/env bash
# ./dev package: a Debian package and a tarball of the program, into build/package/.
#
#   deploy/package/build.sh HOPGAP
#
# The .deb names the libraries it needs and lets Debian bring them. The tarball has them inside and needs only a glibc
# as new as Debian 12's. Both hold the same files at the same times whoever builds them from one commit.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/deploy/check/shell.sh"

program=$(realpath "$1")
need_packages dpkg-dev patchelf
out=$root/build/package
version=$("$program" --version | sed 's/^hopgap //')
architecture=$(dpkg --print-architecture)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "'$version' is no version"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/src/base/version.h")}
export SOURCE_DATE_EPOCH
rm -rf "$out"
mkdir -p "$out"

# man_page: from the program's own help, so that it cannot tell of another program.
man_page() {
  local verb
  # Its usage line names it as it was called.
  help() { (exec -a hopgap "$program" "$@" --help) | verbatim; }
  # A line of text for roff: backslashes and leading dots are its own.
  verbatim() { sed -e 's/\\/\\e/g' -e "s/^[.']/\\\\\&&/" -e 's/-/\\-/g'; }
  cat <<EOF
.TH HOPGAP 1 "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)" "hopgap $version" "User Commands"
.SH NAME
hopgap \- where the milliseconds go between Pub/Sub hops
.SH SYNOPSIS
.B hopgap
.I COMMAND
[OPTION]...
.SH DESCRIPTION
.nf
EOF
  help
  while read -r verb; do
    printf '.SH HOPGAP %s\n' "${verb^^}"
    help "$verb"
  done < <("$program" --help | sed -n '/^  [a-z][a-z-]*  /s/^  \([a-z-]*\) .*/\1/p')
  cat <<'EOF'
.fi
.SH EXIT STATUS
.nf
EOF
  sed -n 's/^| \([0-9][0-9]*\) | \([^|]*\) |.*/\1  \2/p' "$root/docs/exit-codes.md" | tr -d '`' | verbatim
  printf '.fi\n'
}

# share PREFIX: what is no program, below PREFIX/share.
share() {
  local doc=$1/share/doc/hopgap
  install -d "$doc" "$1/share/man/man1"
  man_page | gzip -9n >"$1/share/man/man1/hopgap.1.gz"
  install -m 644 "$root/deploy/package/copyright" "$doc/copyright"
  local file
  for file in README.md docs/exit-codes.md docs/json.md docs/worker-contract.md; do
    [[ ! -f $root/$file ]] || install -m 644 "$root/$file" "$doc/$(basename "$file")"
  done
}

# All of a tree at the time of the commit, and nothing of who built it.
settle() { find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +; }

debian_package() {
  local tree=$out/deb depends
  install -D -m 755 "$program" "$tree/usr/bin/hopgap"
  strip "$tree/usr/bin/hopgap"
  share "$tree/usr"
  # dpkg-shlibdeps looks for a source package around it.
  mkdir -p "$out/shlibs/debian"
  printf 'Source: hopgap\n\nPackage: hopgap\nArchitecture: any\n' >"$out/shlibs/debian/control"
  depends=$(cd "$out/shlibs" && dpkg-shlibdeps -O "$tree/usr/bin/hopgap" 2>"$out/shlibs/log") ||
    { cat "$out/shlibs/log" >&2; die "dpkg-shlibdeps failed"; }
  depends=${depends#shlibs:Depends=}
  [[ $depends == *libgrpc* ]] || die "dpkg-shlibdeps found no gRPC in: $depends"
  mkdir "$tree/DEBIAN"
  cat >"$tree/DEBIAN/control" <<EOF
Package: hopgap
Version: $version
Architecture: $architecture
Maintainer: hopgap maintainers <maintainers@hopgap.invalid>
Installed-Size: $(du -sk --apparent-size "$tree/usr" | cut -f1)
Depends: $depends
Recommends: ca-certificates
Section: devel
Priority: optional
Description: where the milliseconds go between Pub/Sub hops
 Measures chains of Pub/Sub workers, standard and exactly-once side by side,
 splits each hop into stages that add up, serves Pub/Sub itself with real
 exactly-once delivery, and explains and predicts.
EOF
  (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
  settle "$tree"
  dpkg-deb --root-owner-group -Zxz --build "$tree" "$out/hopgap_${version}_$architecture.deb" >/dev/null
  rm -rf "$out/shlibs" "$tree"
}

# The libraries of glibc itself belong to the machine that runs it.
bundled() {
  ldd "$program" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' |
    grep -vE '/(libc|libm|libdl|libpthread|librt|libresolv)\.so\.[0-9]+$'
}

tarball() {
  local name=hopgap-$version-linux-$(uname -m) library package
  local tree=$out/$name
  install -D -m 755 "$program" "$tree/bin/hopgap"
  strip "$tree/bin/hopgap"
  share "$tree"
  install -d "$tree/lib/hopgap" "$tree/share/doc/hopgap/libraries"
  while read -r library; do
    install -m 644 "$library" "$tree/lib/hopgap/"
    # A merged /usr: dpkg knows the file by one of its two names.
    package=$(dpkg -S "$(realpath "$library")" 2>/dev/null || dpkg -S "/usr$(realpath "$library")" 2>/dev/null ||
      dpkg -S "$(realpath "$library" | sed 's|^/usr||')" 2>/dev/null) || die "no package owns $library, so no licence is known"
    package=${package%%:*}
    install -m 644 "/usr/share/doc/$package/copyright" "$tree/share/doc/hopgap/libraries/$package"
  done < <(bundled)
  # DT_RPATH and not DT_RUNPATH: it also holds for what the libraries themselves load.
  patchelf --force-rpath --set-rpath "\$ORIGIN/../lib/hopgap" "$tree/bin/hopgap"
  settle "$tree"
  tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
  rm -rf "$tree"
}

debian_package
tarball
(cd "$out" && sha256sum -- hopgap* >SHA256SUMS)
du -h "$out"/hopgap* | sed "s|$root/||"
