#!/usr/bin/python3
"""Whether the cryptography of this place is that of FIPS 140: hotcell run packaging/fips_check.py [--report]

Prints one JSON object. Exits 0 when every check passes, 1 when one fails; with --report always 0. What cannot be told from
inside a cell (the kernel's flag, when /proc/sys is hidden) is "unknown" and counts as a failure: nobody vouches for it.
"""
import hashlib
import json
import ssl
import sys

BLOCKED = ("md5", "blake2b", "blake2s")
APPROVED = ("sha224", "sha256", "sha384", "sha512", "sha3_256", "sha3_384", "sha3_512")


def kernel():
    try:
        with open("/proc/sys/crypto/fips_enabled", encoding="ascii") as f:
            return {"1": ("pass", "fips_enabled is 1"), "0": ("fail", "fips_enabled is 0")}[f.read().strip()]
    except FileNotFoundError:
        return "fail", "the kernel has no fips_enabled"
    except (OSError, KeyError) as e:
        return "unknown", f"fips_enabled cannot be read: {e}"


def hash_works(name):
    # By OpenSSL's door, not by Python's own copies of the algorithms, which know nothing of FIPS.
    try:
        hashlib.new(name, b"hotcell", usedforsecurity=True)
        return True
    except (ValueError, OSError):
        return False


def tls_floor():
    floor = ssl.create_default_context().minimum_version
    fine = floor >= ssl.TLSVersion.TLSv1_2
    return ("pass" if fine else "fail"), f"at least {floor.name}"


def ciphers():
    """Every cipher must be an AEAD of AES: ChaCha20 is good and not approved."""
    names = [c["name"] for c in ssl.create_default_context().get_ciphers() if c.get("aead")]
    others = [n for n in names if "CHACHA20" in n]
    return ("fail" if others or not names else "pass"), f"{len(names)} AEAD ciphers; not approved: {', '.join(others) or 'none'}"


def main():
    checks = {"kernel": kernel()}
    for name in BLOCKED:
        works = hash_works(name)
        checks[f"{name} blocked"] = ("fail", "it can be used") if works else ("pass", "refused")
    for name in APPROVED:
        works = hash_works(name)
        checks[f"{name} available"] = ("pass", "it can be used") if works else ("fail", "refused")
    checks["tls"] = tls_floor()
    checks["ciphers"] = ciphers()
    fine = all(status == "pass" for status, _ in checks.values())
    print(json.dumps({
        "fips": fine,
        "openssl": ssl.OPENSSL_VERSION,
        "checks": [{"name": n, "status": s, "detail": d} for n, (s, d) in checks.items()],
    }))
    return 0 if fine or "--report" in sys.argv[1:] else 1


sys.exit(main())
