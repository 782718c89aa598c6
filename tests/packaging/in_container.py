#!/usr/bin/python3
"""in_container.py ROOT FILTER COMMAND...: runs it as a container engine would, without one; needs root.

A root of its own, read-only, with /proc, /dev, a /tmp and a volume for the state; user 65532, no capability, no_new_privs, and the seccomp profile
in the file (as an OCI runtime's configuration has it; - for none).
"""
import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys

import seccomp

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
CAP_LAST, ID = 63, 65532
ACTIONS = {"SCMP_ACT_ALLOW": lambda rule: seccomp.ALLOW, "SCMP_ACT_ERRNO": lambda rule: seccomp.ERRNO(rule["errnoRet"])}


def filter_of(profile):
    default = profile["defaultErrnoRet"]
    out = seccomp.SyscallFilter(seccomp.ERRNO(default))
    for rule in profile["syscalls"]:
        if rule["action"] == "SCMP_ACT_ERRNO" and rule["errnoRet"] == default:
            continue  # that is what happens anyway
        arguments = [seccomp.Arg(a["index"], seccomp.MASKED_EQ, a["value"], a["valueTwo"]) for a in rule.get("args", [])]
        for name in rule["names"]:
            try:
                seccomp.resolve_syscall(seccomp.Arch(), name)
                out.add_rule(ACTIONS[rule["action"]](rule), name, *arguments)
            except (RuntimeError, ValueError):
                pass  # a call this library is too old to know
    return out


def mounts(root):
    for how in (["--bind", root, root], ["-t", "proc", "proc", f"{root}/proc"], ["--rbind", "/dev", f"{root}/dev"],
                ["-t", "tmpfs", "-o", "mode=1777,size=64m,nosuid,nodev", "tmpfs", f"{root}/tmp"],
                # The volume, as Kubernetes hands it to fsGroup.
                ["-t", "tmpfs", "-o", f"mode=2775,gid={ID},size=256m,nosuid,nodev", "tmpfs", f"{root}/var/lib/hotcell"],
                ["-o", "remount,bind,ro", root]):
        subprocess.run(["mount", *how], check=True)


def loopback():
    """Up, with a second address that is not the loopback's: for clients from outside."""
    set_address, get_flags, set_flags, up = 0x8916, 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        name = struct.pack("16sh", b"lo", 0).ljust(40, b"\0")
        flags = struct.unpack_from("h", fcntl.ioctl(s, get_flags, name), 16)[0]
        fcntl.ioctl(s, set_flags, struct.pack("16sh", b"lo", flags | up).ljust(40, b"\0"))
        address = struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton("192.0.2.1"))
        fcntl.ioctl(s, set_address, (struct.pack("16s", b"lo:1") + address).ljust(40, b"\0"))


def main():
    root, filter_file, command = os.path.realpath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    if os.environ.get("HOTCELL_IN_CONTAINER") != "1":
        os.environ["HOTCELL_IN_CONTAINER"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child",
                              "--propagation", "private", sys.executable, *sys.argv])
    wall = None
    if filter_file != "-":
        with open(filter_file, encoding="utf-8") as f:
            wall = filter_of(json.load(f))
    libc = ctypes.CDLL(None, use_errno=True)
    loopback()
    mounts(root)
    os.chroot(root)
    os.chdir("/")
    for cap in range(CAP_LAST + 1):
        libc.prctl(PR_CAPBSET_DROP, cap, 0, 0, 0)
    os.setgroups([])
    os.setresgid(ID, ID, ID)
    os.setresuid(ID, ID, ID)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        sys.exit("no_new_privs was refused")
    if wall:
        wall.load()
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/var/lib/hotcell", "XDG_CACHE_HOME": "/tmp"}
    os.execve(command[0], command, environment)


main()
