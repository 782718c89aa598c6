#!/bin/bash
# cgroup v2 seen to work, and v1 with controllers that share a folder: on a real kernel with nothing else in it, in QEMU
# without hardware support. usage: run.sh HOTCELL [KERNEL]. HOTCELL is the static program; KERNEL a Debian vmlinuz.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
hotcell=$(readlink -f "${1:?usage: run.sh HOTCELL [KERNEL]}")
kernel=${2:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/hotcell-v2.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# The kernel is fetched and unpacked, not installed: this machine is not to boot it.
if [ -z "$kernel" ]; then
  for f in /boot/vmlinuz-*-cloud-amd64; do [ -r "$f" ] && kernel=$f; done
fi
if [ -z "$kernel" ]; then
  package=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image-[0-9]/ { print $2; exit }')
  (cd "$work" && apt-get download -q "${package:-linux-image-cloud-amd64}" >download.log 2>&1 && dpkg-deb -x ./*.deb kernel) || {
    cat "$work/download.log"
    echo "no kernel for the guest: neither in /boot nor by apt-get download"
    exit 1
  }
  kernel=$(find "$work/kernel/boot" -name 'vmlinuz-*' | head -n 1)
fi

mkdir -p "$work/root/bin" "$work/root/usr/bin" "$work/root/etc" "$work/root/dev"
cp /bin/busybox "$work/root/bin/"
cp /bin/busybox "$work/root/usr/bin/"
cp "$hotcell" "$work/root/usr/bin/hotcell"
cp "$here/guest.sh" "$work/root/init"
chmod 755 "$work/root/init" "$work/root/usr/bin/hotcell"
printf 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n' >"$work/root/etc/passwd"
printf 'root:x:0:\nuser:x:1000:\n' >"$work/root/etc/group"
(cd "$work/root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd" || exit 1

# boot NAME [WORDS]: until it powers off, five minutes at the most.
boot() {
  timeout 300 qemu-system-x86_64 -accel tcg -machine q35 -cpu max -m 512 -smp 2 -display none -monitor none -no-reboot \
    -nodefaults -serial "file:$work/$1.console" -serial "file:$work/$1.told" \
    -kernel "$kernel" -initrd "$work/initrd" -append "console=ttyS0 panic=-1 quiet ${2:-}" </dev/null >"$work/$1.qemu" 2>&1
  grep -q '^=== end' "$work/$1.told" 2>/dev/null && return 0
  echo "$1: the guest did not come to its end"
  tail -n 30 "$work/$1.qemu" "$work/$1.console" "$work/$1.told"
  return 1
}
status=0
boot v2 || status=1
boot v1 hotcell.v1 || status=1
python3 "$here/judge.py" "$work/v2.told" "$work/v1.told" || status=1
exit "$status"
