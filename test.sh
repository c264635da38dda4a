#!/usr/bin/env bash
# Installs what the tests need, builds and runs the whole suite: everything in a release build, the parts
# that sanitizers can speed through under ASan+UBSan and TSan, a clang build, a NEON cross-compilation.
# Ends with the sum of all: N passed, N failed. Arguments go to ctest (./test.sh -R tokenizer).
set -uo pipefail
cd "$(dirname "$0")"
deploy/install-packages.sh test || exit 1

jobs=$(nproc)
passed=0 failed=0

count() { # adds the closing line of a ctest run in FILE
    local line
    line=$(grep -E '^[0-9]+% tests passed' "$1" | tail -n 1)
    local bad total
    bad=$(sed -n 's/.*passed, \([0-9]*\) tests failed out of.*/\1/p' <<<"$line")
    total=$(sed -n 's/.*failed out of \([0-9]*\).*/\1/p' <<<"$line")
    failed=$((failed + ${bad:-1}))
    passed=$((passed + ${total:-1} - ${bad:-1}))
}

run() { # PRESET CTEST-ARGUMENTS...: configure, build, test
    local preset=$1 log
    shift
    log=$(mktemp)
    echo "==== $preset ===="
    if cmake --preset "$preset" >"$log" 2>&1 && cmake --build "build/$preset" -j "$jobs" >>"$log" 2>&1; then
        ctest --test-dir "build/$preset" --output-on-failure -j "$jobs" "$@" 2>&1 | tee "$log"
        count "$log"
    else
        cat "$log"
        echo "the build $preset failed"
        failed=$((failed + 1))
    fi
    rm -f "$log"
}

build_only() { # PRESET
    local log
    log=$(mktemp)
    echo "==== $1 (build only) ===="
    if cmake --preset "$1" >"$log" 2>&1 && cmake --build "build/$1" -j "$jobs" >>"$log" 2>&1; then
        passed=$((passed + 1))
    else
        cat "$log"
        failed=$((failed + 1))
    fi
    rm -f "$log"
}

run release "$@"
run asan -L 'unit|parity|fuzz' "$@"
run tsan -L 'unit|simulation' "$@"
build_only clang

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
