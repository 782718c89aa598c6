"""Run inside the image, as its ordinary user: the daemon with the configuration that is shipped. Each sentence that holds is
printed; the first that does not ends it."""
import http.client
import json
import signal
import subprocess
import sys
import time

OUTSIDE = "192.0.2.1"  # an address of the container that is not its loopback


def ask(address, method, path, body=None, key=None):
    connection = http.client.HTTPConnection(address, 7070, timeout=60)
    headers = {"Host": "localhost:7070", "Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    connection.request(method, path, json.dumps(body) if body else None, headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def said():
    with open("/tmp/said", encoding="utf-8") as f:
        return f.read()


def expect(holds, sentence, seen=""):
    if not holds:
        print(f"does not hold: {sentence}: {seen}\n{said()}")
        sys.exit(1)
    print(sentence, flush=True)


def main():
    with open("/tmp/said", "w", encoding="utf-8") as log:
        daemon = subprocess.Popen(["/usr/bin/hotcell", "serve"], stderr=log)
    try:
        well, until = False, time.monotonic() + 60
        while not well and daemon.poll() is None and time.monotonic() < until:
            well = subprocess.run(["/usr/libexec/hotcell/healthcheck"], stderr=subprocess.DEVNULL, check=False).returncode == 0
            time.sleep(0.1)
        expect(well and daemon.poll() is None, "serve: it starts before there is a key")
        code = {"language": "python", "code": "import os; print(os.getuid() != 0, 6 * 7)"}
        for address in ("127.0.0.1", OUTSIDE):
            status, body = ask(address, "GET", "/health")
            expect(status == 200, f"serve: health is told at {address}", body)
            status, body = ask(address, "POST", "/api/v1/sandbox/execute", code)
            expect(status == 401, f"serve: nobody gets in at {address} without a key", f"{status} {body}")
        key = subprocess.run(["/usr/bin/hotcell", "key", "create", "me", "--scope", "run,read"], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
        status, body = ask(OUTSIDE, "POST", "/api/v1/sandbox/execute", code, key)
        expect(status == 200 and json.loads(body)["stdout"] == "True 42\n", "serve: with the first key code runs", f"{status} {body}")
        backend = json.loads(body)["enforcement"]["backend"]
        status, body = ask(OUTSIDE, "GET", "/api/v1/sandbox/info", None, key)
        expect(json.loads(body)["configuration"]["effective"]["backend"] == backend, "serve: info says which backend that was", body)
        daemon.send_signal(signal.SIGTERM)
        expect(daemon.wait(30) == 0, "serve: it stops when it is told to")
    finally:
        if daemon.poll() is None:
            daemon.kill()
            daemon.wait()


main()
