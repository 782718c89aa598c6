#!/bin/bash
# run.sh URL COMMAND…: other people's MCP clients and the official conformance tests, unmodified, against a running
# server (URL, started with --mcp-conformance-fixtures) and against the command that serves stdio.
# Closes with "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P) || exit 1
url=${1:?usage: run.sh URL COMMAND...}
shift
[ $# -gt 0 ] || { echo 'usage: run.sh URL COMMAND...' >&2; exit 2; }

# Fetched once by the lock file, beside what is built. No package runs a script of its own.
judges=${HOTCELL_JUDGES:-$here/../../build/mcp-judges}
mkdir -p "$judges" || exit 1
judges=$(cd "$judges" && pwd -P)
if ! cmp -s "$here/package-lock.json" "$judges/fetched"; then
  cp "$here/package.json" "$here/package-lock.json" "$judges/" || exit 1
  # npm ci refuses a lock file without the packages of other platforms, which not every registry has.
  (cd "$judges" && npm install --no-save --ignore-scripts --no-audit --no-fund --engine-strict=false) >"$judges/npm.log" 2>&1 || {
    tail -n 20 "$judges/npm.log"
    exit 1
  }
  cp "$here/package-lock.json" "$judges/fetched"
fi
cp "$here"/*.mjs "$judges/"
node=
for n in "$judges"/node_modules/node-linux-*/bin/node; do [ -x "$n" ] && node=$n; done
[ -n "$node" ] || { echo 'no Node 22 came with the judges' >&2; exit 1; }

out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
export HOME=$out
passed=0 failed=0
count() {  # count NAME STATUS: its log is $out/log
  if [ "$2" -eq 0 ]; then
    passed=$((passed + 1))
    printf '%-62s ok\n' "$1"
  else
    failed=$((failed + 1))
    tail -n 40 "$out/log"
    printf '%-62s FAIL\n' "$1"
  fi
}
client() {
  local name=$1
  shift
  (cd "$judges" && timeout 120 "$node" "$@") >"$out/log" 2>&1
  local status=$?
  count "$name ($(tail -n 1 "$out/log" | grep -o '[0-9]* passed, [0-9]* failed'))" "$status"
}

client 'SDK 1.x over HTTP' legacy.mjs "$url"
client 'SDK 1.x over stdio' legacy.mjs stdio "$@"
client 'SDK 2.x over HTTP, legacy era' modern.mjs "$url" legacy
client 'SDK 2.x over HTTP, modern era' modern.mjs "$url" auto
client 'SDK 2.x over stdio, legacy era' modern.mjs stdio legacy "$@"
client 'SDK 2.x over stdio, modern era' modern.mjs stdio auto "$@"

inspect() {  # inspect NAME EXPECTED ARGUMENT…
  local name=$1 expected=$2
  shift 2
  (cd "$judges" && timeout 60 "$node" node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js --cli "$@") \
    >"$out/log" 2>&1 </dev/null
  grep -q -- "$expected" "$out/log"
  count "$name" $?
}
inspect 'Inspector over HTTP: tools/list' '"run_code"' "$url" --transport http --method tools/list
inspect 'Inspector over HTTP: tools/call' 'hello' "$url" --transport http --method tools/call --tool-name run_command \
  --tool-arg 'command=echo hello'
inspect 'Inspector over stdio: tools/list' '"run_code"' "$@" --method tools/list
inspect 'Inspector over stdio: tools/call' 'hello' "$@" --method tools/call --tool-name run_command \
  --tool-arg 'command=echo hello'

# Scenarios by the revision they are run at. What needs more of a server than we have is in the baseline: it may fail, and
# must be taken out when it no longer does.
for version in 2025-06-18 2025-11-25 2026-07-28; do
  (cd "$judges" && timeout 280 "$node" node_modules/@modelcontextprotocol/conformance/dist/index.js server --url "$url" \
    --suite all --spec-version "$version" --expected-failures "$here/baseline-$version.yml" -o "$out/$version") \
    >"$out/log" 2>&1
  status=$?
  count "conformance $version ($(grep -o 'Total: [0-9]* passed, [0-9]* failed' "$out/log"))" "$status"
done

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
