#!/bin/busybox sh
# shellcheck shell=dash disable=SC2016,SC2089,SC2090  # the programs of the cells are texts here
# Runs as pid 1 of the guest. First as /init of the initramfs, from which nothing can pivot: everything moves to a tmpfs;
# then again from there. What was seen goes to the second serial port, for run.sh to judge.
/bin/busybox mkdir -p /usr/bin /proc /sys /dev /tmp /run /root /etc /new
if [ ! -e /moved ]; then
  /bin/busybox mount -t tmpfs -o mode=755 tmpfs /new
  /bin/busybox cp -a /usr /etc /init /new/
  /bin/busybox touch /new/moved
  /bin/busybox ln -s usr/bin /new/bin
  exec /bin/busybox switch_root /new /init
fi
/bin/busybox --install -s /usr/bin
export PATH=/usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=755 tmpfs /run
ln -s /proc/self/fd /dev/fd
exec >/dev/ttyS1 2>&1 </dev/null
stty -F /dev/ttyS1 -opost 2>/dev/null

# tell NAME COMMAND…: its output and exit code between marks.
tell() {
  name=$1
  shift
  echo "=== $name"
  "$@"
  echo "--- $?"
}
left() { find /sys/fs/cgroup -mindepth 1 -type d -path '*hotcell/*'; }
cell() { hotcell run --json "$@" 2>/tmp/words; }
bomb='BEGIN { s = "xxxxxxxxxxxxxxxx"; while (1) s = s s }'
forks='i=0; while [ $i -lt 50 ]; do sleep 100 & i=$((i+1)); done; exit 3'

if grep -q hotcell.v1 /proc/cmdline; then
  mount -t tmpfs tmpfs /sys/fs/cgroup
  for set in cpu,cpuacct memory pids; do
    mkdir "/sys/fs/cgroup/$set"
    mount -t cgroup -o "$set" "$set" "/sys/fs/cgroup/$set" || echo "no v1 $set"
  done
  tell v1_echo cell --cpus 0.5 -- echo started
  tell v1_cpu cell --cpu-time 300ms --timeout 30s -- sh -c 'while :; do :; done'
  tell v1_left left
else
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  tell echo cell --cpus 0.5 -- echo started
  tell memory cell --memory 32M --disk 4M --timeout 60s -- awk "$bomb"
  tell processes cell --processes 8 --timeout 60s -- sh -c "$forks"
  tell cpu cell --cpu-time 300ms --timeout 60s -- sh -c 'while :; do :; done'
  tell quota cell --cpu-time 300ms --cpus 0.2 --timeout 60s -- sh -c 'while :; do :; done'
  tell left left

  # A launcher that is killed leaves its group; the next one sweeps it.
  # Its line of progress would stand before our marks: the serial port is a terminal.
  hotcell run --timeout 60s -- sleep 50 2>/tmp/words &
  waited=0
  while [ -z "$(left)" ] && [ $waited -lt 60 ]; do
    waited=$((waited + 1))
    sleep 1
  done
  kill -9 $!
  wait
  tell orphan left
  tell sweep cell -- true
  tell swept left

  # An ordinary user, first without anything of his own, then in a group as a session manager would give him.
  export bomb forks
  as_user() { su user -c "hotcell run --json $1" 2>/tmp/words; }
  tell user_plain as_user '-- echo started'
  mkdir -p /sys/fs/cgroup/given/shell
  chown user /sys/fs/cgroup/given /sys/fs/cgroup/given/cgroup.procs /sys/fs/cgroup/given/cgroup.subtree_control
  chown user /sys/fs/cgroup/given/shell /sys/fs/cgroup/given/shell/cgroup.procs
  (
    sh -c 'echo $PPID' >/sys/fs/cgroup/given/shell/cgroup.procs
    tell user_given as_user '-- echo started'
    tell user_memory as_user '--memory 32M --disk 4M --timeout 60s -- awk "$bomb"'
    tell user_processes as_user '--processes 8 --timeout 60s -- sh -c "$forks"'
  )
  tell user_left left
fi
echo '=== end'
sync
poweroff -f
