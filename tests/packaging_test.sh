#!/bin/bash
# packaging_test.sh BUILD_DIR: makes the Debian packages and looks into them; checks units, manifests, the image's root and the
# scripts. Nothing is installed on this machine.
set -euo pipefail
build=$(readlink -f "$1")
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd -P)
place=$(mktemp -d "${TMPDIR:-/tmp}/hotcell-packaging.XXXXXX")
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"

failed=0
fail() { echo "packaging_test: $*" >&2; failed=1; }
need() { [ -e "$place/x/$1" ] || fail "$1 is not in the package"; }
holds() { case $1 in *"$2"*) ;; *) fail "$3 does not say '$2': $1" ;; esac; }

# --- the scripts and the chart
shellcheck "$root"/packaging/debian/{postinst,prerm,postrm} "$root"/packaging/oci/{make_root,healthcheck} \
  "$root/tests/packaging_test.sh" || fail 'shellcheck has something to say'
/usr/bin/python3 "$root/tools/render_chart" --check "$root/packaging/kubernetes" || fail 'the manifests are not the chart'
/usr/bin/python3 "$root/tests/packaging/chart_test.py" "$build/bin/hotcell" || fail 'the chart breaks a promise'
yamllint -s -d '{extends: default, rules: {line-length: disable, document-start: disable, braces: disable,
  brackets: disable, octal-values: disable, indentation: {indent-sequences: whatever}, comments: disable, quoted-strings: disable}}' \
  "$root"/packaging/kubernetes/*.yaml "$root"/packaging/helm/hotcell/{Chart,values,values-strict}.yaml \
  "$root/packaging/config.yaml" "$root/packaging/oci/config.container.yaml" || fail 'yamllint has something to say'
"$build/bin/hotcell" profile show default --seccomp oci >"$place/cell.json"
/usr/bin/python3 "$root/packaging/make_seccomp" "$place/cell.json" | cmp - "$root/packaging/helm/hotcell/files/seccomp.json" ||
  fail 'files/seccomp.json is not what make_seccomp makes of the current list'
"$build/bin/hotcell" config check "$root/packaging/config.yaml" >/dev/null || fail 'the shipped configuration is refused'

# --- the packages
# gzip, since nobody downloads these.
(cd "$place" && cpack -G DEB -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip --config "$build/CPackConfig.cmake" -B "$place/out") >"$place/log" 2>&1 ||
  { tail -n 30 "$place/log"; fail 'cpack failed'; exit 1; }
package=$(echo "$place"/out/hotcell_*.deb)
library=$(echo "$place"/out/libhotcell-dev_*.deb)
if [ ! -f "$package" ] || [ ! -f "$library" ]; then fail 'a package is missing'; exit 1; fi
dpkg-deb -x "$package" "$place/x"
dpkg-deb -e "$package" "$place/control"
for f in usr/bin/hotcell usr/libexec/hotcell/hotcell-verify usr/lib/systemd/system/hotcell.service \
  usr/lib/systemd/system/hotcell.socket usr/lib/sysusers.d/hotcell.conf usr/lib/tmpfiles.d/hotcell.conf \
  etc/hotcell/config.yaml usr/share/man/man1/hotcell-serve.1.gz usr/share/man/man1/hotcell.1.gz \
  usr/share/bash-completion/completions/hotcell usr/share/hotcell/fips_check.py usr/share/doc/hotcell/copyright; do
  need "$f"
done
[ -e "$place/x/usr/include" ] && fail 'headers belong into libhotcell-dev'
[ "$(cat "$place/control/conffiles")" = /etc/hotcell/config.yaml ] || fail 'the configuration is no conffile'
for script in postinst prerm postrm; do [ -x "$place/control/$script" ] || fail "$script is not there or not executable"; done
info=$(dpkg-deb -f "$package")
holds "$info" 'Package: hotcell' control
holds "$info" "Version: $("$build/bin/hotcell" --version | cut -d' ' -f2)" control
holds "$info" 'Maintainer: ' control
strangers=$(dpkg-deb -c "$package" | awk '$2 != "root/root"')
[ -z "$strangers" ] || fail "not root's: $strangers"
writable=$(dpkg-deb -c "$package" | grep -E '^-.{4}w|^-.{7}w' || true)
[ -z "$writable" ] || fail "others may write: $writable"
holds "$(dpkg-deb -c "$library")" usr/include/hotcell/launcher.h libhotcell-dev
# What is in the package runs from where it lies.
"$place/x/usr/bin/hotcell" run -- /bin/true || fail "the packaged hotcell run exits $?"
"$place/x/usr/bin/hotcell" config check "$place/x/etc/hotcell/config.yaml" >/dev/null || fail 'the conffile is refused'
if [ -n "${HOTCELL_SOAK:-}" ]; then   # it reads every byte of every program: minutes
  # The project has no address to write to.
  # It leaves files where it works.
  mkdir "$place/lintian"
  TMPDIR=$place/lintian lintian --fail-on error --allow-root --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
    "$package" "$library" || fail 'lintian reports errors'
fi

# --- the units
if command -v systemd-analyze >/dev/null; then
  mkdir -p "$place/x/etc/systemd"
  out=$(systemd-analyze verify --root="$place/x" --man=no --recursive-errors=no \
    "$place/x/usr/lib/systemd/system/hotcell.service" "$place/x/usr/lib/systemd/system/hotcell.socket" 2>&1 |
    grep -i hotcell | grep -v 'not executable' || true)
  [ -z "$out" ] || fail "systemd-analyze verify: $out"
  score=$(systemd-analyze security --offline=true "$root/packaging/systemd/hotcell.service" 2>/dev/null |
    sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p')
  # 10 is no hardening at all; what keeps it from 1 is listed with its reason in the unit.
  awk -v s="${score:-10}" 'BEGIN { exit !(s < 4) }' || fail "systemd-analyze security: $score"
fi

# --- the image: a root of its own, read-only, an ordinary user without any capability, with and without our filter
"$root/packaging/oci/make_root" "$package" "$place/image" || fail 'make_root failed'
grep -q '^USER 65532:65532$' "$root/packaging/oci/Containerfile" || fail 'the image runs as root'
grep -q '^HEALTHCHECK ' "$root/packaging/oci/Containerfile" || fail 'the image has no health check'
filter=$root/packaging/helm/hotcell/files/seccomp.json
if [ "$(id -u)" = 0 ]; then
  inside() { /usr/bin/python3 "$root/tests/packaging/in_container.py" "$place/image" "$@" 2>&1 || true; }
  out=$(inside - /usr/bin/hotcell config show --origin)
  holds "$out" 'listen: ["0.0.0.0:7070"]' 'config show in the image'
  holds "$out" 'state_dir: /var/lib/hotcell/state' 'config show in the image'
  for with in - "$filter"; do
    out=$(inside "$with" /usr/bin/hotcell run --backend landlock --language python -c 'import os; print(os.getuid(), 6 * 7)')
    holds "$out" ' 42' "python in the image, filter $with"
    # The control: what the filter and the read-only root are for.
    out=$(inside "$with" /bin/bash -c 'echo x >/usr/bin/x')
    holds "$out" 'Read-only file system' 'a write into the image'
  done
  out=$(inside "$filter" /usr/bin/python3 -c 'import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
c.unshare(0x10000000); print("unshare:", os.strerror(ctypes.get_errno()))')
  holds "$out" 'unshare: Operation not permitted' 'a namespace in the container'
  # The health check tells an answer from silence.
  out=$(inside - /bin/bash -c '/usr/libexec/hotcell/healthcheck && echo well || echo ill')
  holds "$out" ill 'the health check without a daemon'
  holds "$(inside - /usr/bin/hotcell run --backend landlock --json /usr/share/hotcell/fips_check.py)" fips 'the FIPS check'
  # The daemon itself, with the image's configuration and with the manifests': it starts without a key and lets nobody in.
  program=$(cat "$root/tests/packaging/serve_in_container.py")
  serves() {
    out=$(inside "$1" /usr/bin/python3 -c "$program")
    holds "$out" 'serve: it stops when it is told to' "the daemon in the image ($2, filter $1)"
  }
  for with in - "$filter"; do serves "$with" 'its own configuration'; done
  /usr/bin/python3 -c 'import sys, yaml; print(yaml.safe_load(open(sys.argv[1]))["data"]["config.yaml"], end="")' \
    "$root/packaging/kubernetes/configmap.yaml" >"$place/image/etc/hotcell/config.yaml"
  serves "$filter" "the manifests'"
fi
exit "$failed"
