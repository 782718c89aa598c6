"""Reads what the guests told and says what is wrong with it."""
import json
import sys


def read(path):
    """name -> (text, exit code)"""
    told, name, lines = {}, None, []
    for line in open(path, errors="replace"):
        line = line.rstrip("\r\n")
        if line.startswith("=== "):
            name, lines = line[4:], []
        elif line.startswith("--- ") and name:
            told[name] = ("\n".join(lines), int(line[4:]))
            name = None
        else:
            lines.append(line)
    return told


failures = 0


def check(what, true, seen=""):
    global failures
    print(("ok    " if true else "WRONG ") + what)
    if not true:
        failures += 1
        print("      " + str(seen)[:1500])


def result(told, name):
    text, code = told.get(name, ("nothing was told", -1))
    try:
        return json.JSONDecoder().raw_decode(text[text.index("{"):])[0], code, text
    except ValueError:
        check(name + ": a result", False, text)
        return {}, code, text


def layer(report, name):
    for one in report.get("enforcement", {}).get("layers", []):
        if one["name"] == name:
            return one["status"], one["detail"]
    return "missing", ""


def ends(told, name, reason):
    report, _, text = result(told, name)
    check(f"{name} ends for {reason}", report.get("exit_reason") == reason, text)
    return report


def in_force(report, name, version):
    for one in ("memory", "cpu", "processes"):
        status, detail = layer(report, one)
        check(f"{name}: {one} is in full force by cgroup", status == "full" and "cgroup" in detail, (status, detail))
    check(f"{name}: it is {version}", version in layer(report, "memory")[1], layer(report, "memory"))


def empty(told, name):
    text, _ = told.get(name, ("nothing was told", -1))
    check(f"{name}: no group is there any more", text == "", text)


v2, v1 = read(sys.argv[1]), read(sys.argv[2])

report, code, text = result(v2, "echo")
check("echo runs", report.get("stdout") == "started\n" and code == 0, text)
in_force(report, "echo", "cgroup v2")
check("echo: the quota is there", layer(report, "cpu")[1] == "cgroup total and quota", layer(report, "cpu"))
usage = report.get("resource_usage", {})
check("echo: usage is counted", usage.get("cpu_time_ns", 0) > 0 and usage.get("memory_peak_bytes", 0) > 0, usage)

report = ends(v2, "memory", "memory")
peak = report.get("resource_usage", {}).get("memory_peak_bytes", 0)
check("memory: within memory + disk", 8 << 20 < peak <= 36 << 20, peak)
report = ends(v2, "processes", "processes")
check("processes: no more than eight", 0 < report.get("resource_usage", {}).get("processes_peak", 0) <= 8, report.get("resource_usage"))
ends(v2, "cpu", "timeout_cpu")
report = ends(v2, "quota", "timeout_cpu")
check("quota: 0.3 s of work take 1 s at least", report.get("duration", 0) > 1e9, report.get("duration"))
empty(v2, "left")
text, _ = v2.get("orphan", ("", 0))
check("orphan: a killed launcher leaves its group (the control)", text != "", text)
ends(v2, "sweep", "exited")
empty(v2, "swept")

report, code, text = result(v2, "user_plain")
check("user_plain runs", report.get("stdout") == "started\n" and code == 0, text)
status, detail = layer(report, "memory")
check("user_plain: memory is partial, and why", status == "partial" and "delegated" in detail, (status, detail))
report, code, text = result(v2, "user_given")
check("user_given runs", report.get("stdout") == "started\n" and code == 0, text)
in_force(report, "user_given", "cgroup v2")
ends(v2, "user_memory", "memory")
ends(v2, "user_processes", "processes")
empty(v2, "user_left")

report, code, text = result(v1, "v1_echo")
check("v1_echo runs with cpu and cpuacct in one folder", report.get("stdout") == "started\n" and code == 0, text)
in_force(report, "v1_echo", "cgroup v1")
check("v1_echo: total and quota", layer(report, "cpu")[1] == "cgroup total and quota", layer(report, "cpu"))
ends(v1, "v1_cpu", "timeout_cpu")
empty(v1, "v1_left")

print(f"{failures} wrong")
sys.exit(1 if failures else 0)
