#!/usr/bin/python3
"""The chart and the plain manifests keep what they promise: chart_test.py [HOTCELL]. Each check is a sentence; those that do
not hold are printed, and the exit code is 1. With the program, the daemon's configuration in them is read by it."""
import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
CHART = os.path.join(ROOT, "packaging", "helm", "hotcell")
sys.dont_write_bytecode = True
_loader = importlib.machinery.SourceFileLoader("render_chart", os.path.join(ROOT, "tools", "render_chart"))
_spec = importlib.util.spec_from_loader("render_chart", _loader)
chart = importlib.util.module_from_spec(_spec)
_loader.exec_module(chart)

failures, passed = [], 0


def expect(holds, sentence):
    global passed
    if holds:
        passed += 1
    else:
        failures.append(sentence)


class Strict(yaml.SafeLoader):
    """Refuses a key that is there twice; Kubernetes would take the last."""


def _no_twice(loader, node, deep=False):
    keys = [loader.construct_object(k, deep=deep) for k, _ in node.value]
    if len(keys) != len(set(keys)):
        raise yaml.YAMLError(f"a key twice in line {node.start_mark.line + 1}")
    return loader.construct_mapping(node, deep=deep)


Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _no_twice)


def documents(**how):
    return {d["kind"]: d for d in (yaml.load(t, Strict) for t in chart.render_all(**how).values())}


def check_pod(name, spec):
    expect(spec.get("automountServiceAccountToken") is False, f"{name}: no token of the cluster")
    expect(spec.get("enableServiceLinks") is False, f"{name}: no variables of services")
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        expect(not spec.get(key), f"{name}: no {key}")
    expect(not any("hostPath" in v for v in spec["volumes"]), f"{name}: nothing of the node is mounted")
    pod = spec["securityContext"]
    expect(pod["runAsNonRoot"] is True and pod["runAsUser"] == 65532, f"{name}: runs as 65532")
    expect(pod["seccompProfile"]["type"] in ("RuntimeDefault", "Localhost"), f"{name}: has a seccomp profile")
    for c in spec["containers"]:
        security = c["securityContext"]
        expect(security["runAsNonRoot"] is True, f"{name}: the container is not root")
        expect(security["allowPrivilegeEscalation"] is False, f"{name}: no privileges to gain")
        expect(security["privileged"] is False, f"{name}: not privileged")
        expect(security["readOnlyRootFilesystem"] is True, f"{name}: the root is read-only")
        expect(security["capabilities"] == {"drop": ["ALL"]}, f"{name}: all capabilities dropped, none added")
        for kind in ("requests", "limits"):
            expect(set(c["resources"][kind]) == {"cpu", "memory"}, f"{name}: {kind} of cpu and memory")
        mounts = {m["mountPath"] for m in c["volumeMounts"]}
        expect("/tmp" in mounts, f"{name}: /tmp can be written")
    tmp = next(v for v in spec["volumes"] if v["name"] == "tmp")
    expect("sizeLimit" in tmp["emptyDir"], f"{name}: /tmp has a limit")


def check_documents(docs, tls):
    deployment = docs["Deployment"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    expect(deployment["spec"]["selector"]["matchLabels"].items() <= labels.items(), "the deployment selects its own pods")
    spec = deployment["spec"]["template"]["spec"]
    check_pod("deployment", spec)
    container = spec["containers"][0]
    for probe, path in (("livenessProbe", "/health"), ("readinessProbe", "/ready"), ("startupProbe", "/ready")):
        get = container[probe]["httpGet"]
        expect(get["path"] == path and get["port"] == "http", f"{probe} asks {path}")
        expect(get["scheme"] == ("HTTPS" if tls else "HTTP"), f"{probe} speaks as the daemon does")
        expect({"name": "Host", "value": "localhost"} in get["httpHeaders"], f"{probe} names a host that is answered")
    policy = docs["NetworkPolicy"]["spec"]
    expect(policy["podSelector"]["matchLabels"].items() <= labels.items(), "the network policy is about these pods")
    expect(policy["policyTypes"] == ["Ingress", "Egress"], "the network policy is about both ways")
    expect(policy["egress"] == [], "the daemon and its cells call nobody")
    expect(len(policy["ingress"]) == 1, "one rule lets in")
    expect({"podSelector": {"matchLabels": {"hotcell-client": "true"}}} in policy["ingress"][0]["from"],
           "clients come in by label")
    expect(all("podSelector" in p or "namespaceSelector" in p for p in policy["ingress"][0]["from"]), "nobody else does")
    expect(policy["ingress"][0]["ports"] == [{"protocol": "TCP", "port": 7070}], "to one port")
    expect(docs["Service"]["spec"]["selector"].items() <= labels.items(), "the service finds the pods")
    expect(docs["Service"]["spec"]["type"] == "ClusterIP", "the service stays inside the cluster")
    expect(docs["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items() <= labels.items(), "so does the budget")
    for kind, d in docs.items():
        expect(d["apiVersion"] and d["metadata"]["name"].startswith("hotcell"), f"{kind} has a name")


def check_seccomp():
    with open(os.path.join(CHART, "files", "seccomp.json"), encoding="utf-8") as f:
        profile = json.load(f)
    denied = set("""io_uring_setup io_uring_enter io_uring_register splice ptrace process_vm_readv process_vm_writev
        init_module finit_module delete_module mount umount2 pivot_root chroot bpf unshare setns reboot kexec_load
        kexec_file_load swapon swapoff""".split())
    allowed, refused = set(), set()
    for rule in profile["syscalls"]:
        (allowed if rule["action"] == "SCMP_ACT_ALLOW" else refused).update(rule["names"])
    expect(profile["defaultAction"] == "SCMP_ACT_ERRNO", "seccomp: what is not listed is refused")
    expect(denied <= refused, f"seccomp: refused by name: {sorted(denied - refused)}")
    expect(not denied & allowed, f"seccomp: never allowed: {sorted(denied & allowed)}")
    needed = {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "accept4", "seccomp", "execve"}
    expect(needed <= allowed, f"seccomp: the daemon needs {sorted(needed - allowed)}")
    return profile


def check_config(program, docs, name):
    with tempfile.TemporaryDirectory(prefix="hotcell-chart-") as folder:
        path = os.path.join(folder, "config.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(docs["ConfigMap"]["data"]["config.yaml"])
        os.chmod(path, 0o444)
        done = subprocess.run([program, "config", "check", path], capture_output=True, text=True, check=False)
        expect(done.returncode == 0, f"{name}: the daemon reads its file: {done.stderr}{done.stdout}")


def check_by_helm():
    """What this project's own reading of the templates cannot see."""
    if not shutil.which("helm"):
        return
    done = subprocess.run(["helm", "lint", "--strict", CHART], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"helm lint: {done.stdout}{done.stderr}")
    done = subprocess.run(["helm", "template", "hotcell", CHART, "-n", "hotcell"], capture_output=True, text=True, check=True)
    theirs = {d["kind"]: d for d in yaml.safe_load_all(done.stdout) if d}
    expect(theirs == documents(), "helm renders what tools/render_chart renders")


def main():
    plain, strict = documents(), documents(values_files=[os.path.join(CHART, "values-strict.yaml")])
    tls = documents(settings=["tls.secretName=mine", "state.claimName=kept", "fips.check=true",
                              "config={limits: {memory: 512M}, park: {python: 2}}",
                              "networkPolicy.ingressFrom=[{namespaceSelector: {matchLabels: {name: monitoring}}}]"])
    check_documents(plain, False)
    check_documents(strict, False)
    check_documents(tls, True)
    expect(len(tls["NetworkPolicy"]["spec"]["ingress"][0]["from"]) == 2, "further peers come in when they are named")
    check_pod("fips job", tls["Job"]["spec"]["template"]["spec"])
    profile = check_seccomp()
    expect(strict["SeccompProfile"]["spec"] == profile, "the operator gets the same profile")
    expect(strict["Deployment"]["spec"]["template"]["spec"]["securityContext"]["seccompProfile"]["type"] == "Localhost",
           "strict uses it")
    if len(sys.argv) > 1:
        for name, docs in (("plain", plain), ("tls", tls)):
            check_config(sys.argv[1], docs, name)
    check_by_helm()
    for sentence in failures:
        print(f"chart_test: does not hold: {sentence}")
    print(f"chart_test: {passed} hold, {len(failures)} do not")
    sys.exit(1 if failures else 0)


main()
