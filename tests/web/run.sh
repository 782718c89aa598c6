#!/bin/bash
# run.sh URL [SCREENSHOT_FOLDER]: clicks through the dashboard of a running daemon in a real Chromium.
# HOTCELL_KEY, where set, is the API key that the daemon wants. CHROMIUM names the browser when it is not Debian's.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd -P)
root=$(cd "$here/../.." && pwd -P)
url=${1:?usage: run.sh URL [SCREENSHOT_FOLDER]}
fetched=$root/build/web-tests
wanted=$(sha256sum <"$here/package-lock.json")
# Fetched once for all users; an ordinary user finds it there.
if [ "$(cat "$fetched/.hotcell" 2>/dev/null)" != "$wanted" ]; then
  mkdir -p "$fetched"
  cp "$here/package.json" "$here/package-lock.json" "$fetched/"
  (cd "$fetched" && npm ci --ignore-scripts --no-audit --no-fund >&2)
  printf '%s\n' "$wanted" >"$fetched/.hotcell"
fi
# The bundler drops types without looking at them.
if [ -d "$root/build/web/node_modules" ]; then
  node "$fetched/node_modules/typescript/bin/tsc" -p "$root/web"
fi
export HOTCELL_WEB_MODULES=$fetched/node_modules HOTCELL_WEB_SHOTS=${2:-}
HOTCELL_URL=${url%/} exec node --test --test-concurrency=1 "$here"/*_test.mjs
