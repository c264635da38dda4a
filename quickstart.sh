#!/usr/bin/env bash
# Installs what the build needs, builds build/release/penstock and serves the embedded default model on
# 127.0.0.1:8000. With --once: sends one chat request through that server, prints the answer, time to
# first token and tokens per second, stops the server and exits.
set -euo pipefail
cd "$(dirname "$0")"

once=false
case "${1:-}" in
"") ;;
--once) once=true ;;
*) echo "Usage: ./quickstart.sh [--once]" >&2; exit 2 ;;
esac

deploy/install-packages.sh build
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build build/release --target all

port=8000
program=build/release/penstock
if ! $once; then
    cat <<EOF

Serving the embedded default model. Try it from another terminal:

  curl http://127.0.0.1:$port/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{"messages": [{"role": "user", "content": "What is the capital of France?"}]}'

Ctrl-C stops it. Other models: $program serve DIRECTORY|FILE.gguf

EOF
    exec "$program" serve --host 127.0.0.1 --port $port
fi

log=$(mktemp)
"$program" serve --host 127.0.0.1 --port $port >"$log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -f "$log"' EXIT
"$program" bench once --base-url "http://127.0.0.1:$port" \
    --prompt "What is the capital of France?" || { cat "$log" >&2; exit 1; }
