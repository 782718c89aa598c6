# Runs in a cell and tells what it sees there:  ./hotcell run examples/hello.py
import os
import socket

print("Hello from a cell.")
print("user       ", os.getuid(), "on host", socket.gethostname())
print("folder     ", os.getcwd(), os.listdir("."))
print("processes  ", [p for p in os.listdir("/proc") if p.isdigit()])
print("root       ", " ".join(sorted(os.listdir("/"))))
print("environment", " ".join(sorted(os.environ)))
for path in ("/etc/shadow", "/root", "/home"):
    try:
        os.stat(path)
        print(path, "is here")
    except OSError as error:
        print(path, "->", error.strerror)
try:
    socket.create_connection(("192.0.2.1", 80), timeout=2)
    print("192.0.2.1:80 answered")
except OSError as error:
    print("192.0.2.1:80 ->", error.strerror)
