# Sourced by ./hotcell and ./test: installs missing Debian packages and builds a preset. Plain sh.
# The caller has set `root` (the repository) and, on failure, gets a non-zero status with the cause on stderr.
# shellcheck shell=dash disable=SC2154

say() { printf 'hotcell: %s\n' "$*" >&2; }

# Packages of the given groups that are not installed, one per line. `cmd=NAME` before the reason: the command will do,
# whatever package it came from.
missing_packages() (
  wanted=
  while read -r group package reason; do
    case $reason in
      cmd=*)
        name=${reason%% *}
        command -v "${name#cmd=}" >/dev/null 2>&1 && continue
        ;;
    esac
    for g in "$@"; do
      [ "$group" = "$g" ] && wanted="$wanted $package"
    done
  done <"$root/tools/packages.txt"
  # dpkg-query fails when it does not know one of them, and still lists the others.
  # shellcheck disable=SC2086,SC2016
  have=$(dpkg-query -W -f '${db:Status-Status}=${Package}\n' $wanted 2>/dev/null || :)
  for p in $wanted; do
    case "
$have
" in
      *"
installed=$p
"*) ;;
      *) printf '%s\n' "$p" ;;
    esac
  done
)

# as_root COMMAND…: directly, or by sudo when that works without a question or there is a person to answer it.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 2 ]; }; then
    sudo "$@"
  else
    return 125
  fi
}

# apt_install LOG PACKAGE…: with the package lists fetched first only when the ones at hand do not do.
apt_install() {
  log=$1
  shift
  apt_options='-o DPkg::Lock::Timeout=600 -o Acquire::Retries=3'
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $apt_options "$@" \
    >"$log" 2>&1 </dev/null && return 0
  # shellcheck disable=SC2086
  as_root apt-get update -q $apt_options >>"$log" 2>&1 </dev/null
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $apt_options "$@" \
    >>"$log" 2>&1 </dev/null
}

# need_packages GROUP…
need_packages() {
  # Elsewhere the libraries have other names: let CMake say what it does not find.
  command -v dpkg-query >/dev/null 2>&1 || return 0
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [ -z "$missing" ] && return 0
  say "installing: $missing"
  case " $missing" in
    *" libboost1.81-dev "*)
      old=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 'libboost1.74-dev' 2>/dev/null || :)
      case $old in "installed "*) say "libboost1.74-dev conflicts with 1.81 and is replaced by it" ;; esac
      ;;
  esac
  apt_log=$(mktemp) || return 125
  # shellcheck disable=SC2086
  if apt_install "$apt_log" $missing; then
    rm -f "$apt_log"
    return 0
  fi
  tail -n 20 "$apt_log" >&2
  rm -f "$apt_log"
  say "these packages are missing and could not be installed here; as root:"
  say "  apt-get install $missing"
  return 125
}

# show_progress PID LOG: ninja's "[12/345]" on one line of a terminal, as long as the process lives.
show_progress() {
  [ -t 2 ] || return 0
  while kill -0 "$1" 2>/dev/null; do
    step=$(tail -n 1 "$2" | sed -n 's/^\(\[[0-9/]*\]\).*/\1/p')
    [ -n "$step" ] && printf '\r%s' "$step" >&2
    sleep 0.5
  done
  printf '\r\033[K' >&2
}

# build_preset PRESET [TARGET…]: quiet, unless it fails.
build_preset() (
  preset=$1
  shift
  build_log=$root/build/$preset.log
  cd "$root" || exit 125
  case $preset in release) dir=build ;; *) dir=build/$preset ;; esac
  # A tree that was moved or copied here carries a cache that names its old place; CMake refuses it.
  if [ -f "$dir/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$dir/CMakeCache.txt"; then
    rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles" "$dir/build.ninja"
  fi
  {
    { [ -f "$dir/build.ninja" ] && [ ! CMakePresets.json -nt "$dir/build.ninja" ]; } || cmake --preset "$preset"
  } >"$build_log" 2>&1 </dev/null && {
    # In the background, where it would not hear Ctrl-C by itself.
    trap 'kill "$builder" 2>/dev/null; exit 130' INT TERM
    ninja -C "$dir" "$@" >>"$build_log" 2>&1 </dev/null &
    builder=$!
    show_progress "$builder" "$build_log"
    wait "$builder"
  } && exit 0
  tail -n 40 "$build_log" >&2
  say "the build failed (preset $preset); the whole output is in $build_log"
  exit 125
)
