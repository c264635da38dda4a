#!/usr/bin/env bash
# Runs llama.cpp's own server tests against penstock: llama_cpp.sh LLAMA_CPP_CHECKOUT [PYTEST ARGUMENTS].
# Needs python3 with pytest, openai, requests and wget. What is out of scope, and why, is listed in
# llama_cpp_out_of_scope.txt; everything else in the four files must pass.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
checkout=$(cd "${1:?usage: llama_cpp.sh LLAMA_CPP_CHECKOUT}" && pwd)
shift
export PENSTOCK_PROGRAM=${PENSTOCK_PROGRAM:-$root/build/release/penstock}
export PENSTOCK_TEST_MODEL=${PENSTOCK_TEST_MODEL:-$(dirname "$root")/shared/models/stories260K.gguf}
export LLAMA_SERVER_BIN_PATH=$here/llama_cpp_adapter.py

deselect=()
while IFS= read -r line; do
    [[ $line == unit/* ]] && deselect+=(--deselect "${line%%  *}")
done <"$here/llama_cpp_out_of_scope.txt"

cd "$checkout/tools/server/tests"
exec python3 -m pytest -q --no-header -p no:cacheprovider "${deselect[@]}" \
    unit/test_chat_completion.py unit/test_completion.py unit/test_tokenize.py unit/test_security.py \
    -k "not slow" "$@"
