# Sourced by image.sh: reads the Dockerfile and runs its steps in roots of their own. What it does not know is an error,
# so that the image cannot be another than the one that was checked. Expects $root, shell.sh and root.sh.
#
# Leaves in: image (the root of the last stage), entrypoint, command, health (arrays), user, workdir, exposed.

declare -A stages=()
image='' entrypoint=() command=() health=() user=0:0 workdir=/ exposed=''

# logical_lines FILE: one instruction a line, without comments.
logical_lines() {
  local line joined=''
  while IFS= read -r line || [[ -n $line ]]; do
    [[ ! $line =~ ^[[:space:]]*# ]] || { [[ ! $line =~ ^#\ *[a-z]+= ]] || die "a parser directive: $line"; continue; }
    [[ $line != *'<<'* ]] || die "a here-document: $line"
    if [[ $line == *\\ ]]; then joined+=${line%\\}; continue; fi
    joined+=$line
    [[ -z ${joined//[[:space:]]/} ]] || printf '%s\n' "$joined"
    joined=''
  done <"$1"
  [[ -z $joined ]] || die "the last line goes on"
}

# words_of '["a", "b"]': the exec form, one word a line.
words_of() {
  [[ $1 =~ ^\[\"[^\"\\]*\"(,\ *\"[^\"\\]*\")*\]$ ]] || die "not of the exec form: $1"
  grep -o '"[^"]*"' <<<"$1" | tr -d '"'
}

# Copies the context without what .dockerignore names: entries at its top, or `**/NAME` anywhere.
copy_context() {
  local pattern excludes=()
  while IFS= read -r pattern; do
    [[ -n $pattern && $pattern != \#* ]] || continue
    case $pattern in
      '**/'*/* | '!'*) die ".dockerignore: $pattern" ;;
      '**/'*) excludes+=(--no-anchored "--exclude=${pattern#'**/'}") ;;
      */*) die ".dockerignore: $pattern" ;;
      *) excludes+=(--anchored "--exclude=./$pattern") ;;
    esac
  done <"$root/.dockerignore"
  tar -C "$root" "${excludes[@]}" -cf - . | tar -C "$1" --no-same-owner -xf -
}

step_from() {
  [[ $1 =~ ^debian:bookworm-slim(\ AS\ ([a-z]+))?$ ]] || die "FROM $1"
  image=$roots/image-${#stages[@]}
  stages[${BASH_REMATCH[2]:-last}]=$image
  make_root "$image"
  entrypoint=() command=() health=() user=0:0 workdir=/ exposed=''
}

step_workdir() {
  [[ $1 =~ ^/[A-Za-z0-9/_.-]*$ ]] || die "WORKDIR $1"
  mkdir -p "$image$1"
  workdir=$1
}

step_copy() {
  [[ $1 == '. .' ]] || die "COPY $1: only the whole context"
  copy_context "$image$workdir"
}

# mount_of OPTION: "FROM:TO" for enter.
mount_of() {
  local part type='' from='' source='' target='' parts
  IFS=, read -ra parts <<<"$1"
  for part in "${parts[@]}"; do
    case $part in
      type=cache | type=bind) type=${part#*=} ;;
      from=*) from=${stages[${part#*=}]:-} ; [[ -n $from ]] || die "RUN --mount=$1: there is no such stage" ;;
      source=/* ) source=${part#*=} ;;
      target=/* ) target=${part#*=} ;;
      *) die "RUN --mount=$1: $part" ;;
    esac
  done
  case $type in
    cache) [[ -z $from$source ]] || die "RUN --mount=$1"
      source=${HOPGAP_IMAGE_CACHE:-$roots/cache}/$(basename "$target")
      mkdir -p "$source" ;;
    bind) [[ -n $from && -n $source ]] || die "RUN --mount=$1: only from a stage"
      source=$from$source ;;
    *) die "RUN --mount=$1: no type" ;;
  esac
  printf '%s:%s' "$source" "$target"
}

step_run() {
  local rest=$1 mounts=() mount
  while [[ $rest =~ ^--mount=([^ ]+)\ +(.*)$ ]]; do
    rest=${BASH_REMATCH[2]}
    mount=$(mount_of "${BASH_REMATCH[1]}") || exit 1
    mounts+=(--bind "$mount")
  done
  [[ $rest != --* && $rest != '['* ]] || die "RUN $rest"
  say "step: RUN $rest"
  enter --user "$user" "${mounts[@]}" "$image" env HOPGAP_JOBS="${HOPGAP_JOBS:-$(nproc)}" \
    /bin/sh -c "cd '$workdir' && $rest" </dev/null >>"$log" 2>&1 || { tail -n 20 "$log" >&2; die "the step failed"; }
  # Where a mount was, a folder stays behind, as it does in an image.
}

step_healthcheck() {
  local rest=$1
  while [[ $rest =~ ^--(interval|timeout|start-period)=[0-9]+s\ +(.*)$ || $rest =~ ^--(retries)=[0-9]+\ +(.*)$ ]]; do
    rest=${BASH_REMATCH[2]}
  done
  [[ $rest == 'CMD ['* ]] || die "HEALTHCHECK $rest"
  mapfile -t health < <(words_of "${rest#CMD }")
}

# run_dockerfile FILE
run_dockerfile() {
  local line name rest
  while IFS= read -r line <&4; do
    name=${line%%[[:space:]]*} rest=${line#*[[:space:]]}
    [[ -n $image || $name == FROM ]] || die "$name before FROM"
    case $name in
      FROM) step_from "$rest" ;;
      WORKDIR) step_workdir "$rest" ;;
      COPY) step_copy "$rest" ;;
      RUN) step_run "$(tr -s ' ' <<<"$rest")" ;;
      USER) [[ $rest =~ ^[0-9]+:[0-9]+$ ]] || die "USER $rest"; user=$rest ;;
      EXPOSE) [[ $rest =~ ^[0-9]+$ ]] || die "EXPOSE $rest"; exposed=$rest ;;
      STOPSIGNAL) [[ $rest == SIGTERM ]] || die "STOPSIGNAL $rest" ;;
      ENTRYPOINT) mapfile -t entrypoint < <(words_of "$rest") ;;
      CMD) mapfile -t command < <(words_of "$rest") ;;
      HEALTHCHECK) step_healthcheck "$rest" ;;
      *) die "the Dockerfile has an instruction that this check does not know: $name" ;;
    esac
  done 4< <(logical_lines "$1")
  [[ -n $image && ${#entrypoint[@]} -gt 0 && ${#health[@]} -gt 0 ]] || die "the Dockerfile lacks ENTRYPOINT or HEALTHCHECK"
}
