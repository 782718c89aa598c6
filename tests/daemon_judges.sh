#!/bin/bash
# daemon_judges.sh HOTCELL: starts a daemon of its own and lets other people's clients judge it: the MCP SDKs, Inspector
# and conformance tests, and a browser that clicks through the dashboard.
set -uo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P) || exit 1
hotcell=$(readlink -f "${1:?usage: daemon_judges.sh HOTCELL}") || exit 1
place=$(mktemp -d) || exit 1
mkfifo "$place/ready"
HOTCELL_MCP_FIXTURES=1 "$hotcell" serve --listen 127.0.0.1:0 --state "$place/state" --ready-fd 9 9>"$place/ready" 2>"$place/log" &
daemon=$!
stop() {
  kill "$daemon" 2>/dev/null
  wait "$daemon"
  local status=$?
  rm -rf "$place"
  return "$status"
}
trap stop EXIT
# Whoever waits for a daemon that cannot start would wait for ever.
url=$(timeout 60 head -n 1 "$place/ready")
[ -n "$url" ] || { cat "$place/log"; exit 1; }
status=0
"$here/mcp/run.sh" "$url/mcp" "$hotcell" mcp || status=1
"$here/web/run.sh" "$url" || status=1
[ "$status" -eq 0 ] || cat "$place/log"
trap - EXIT
stop || { echo "the daemon ended with $?"; status=1; }
exit "$status"
