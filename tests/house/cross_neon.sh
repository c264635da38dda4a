#!/bin/sh
# Compiles the CPU backend and what it stands on for AArch64, NEON files included, with a cross compiler.
# Exits 77 (skipped) where there is none.
set -eu
cd "$(dirname "$0")/../.."
cc=${CROSS_CC:-aarch64-linux-gnu-gcc}
command -v "$cc" >/dev/null || { echo "skipped: there is no $cc"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
count=0
for file in runtime/base/*.c kvcache/*.c kernels/*.c kernels/cpu/*.c parallel/*.c; do
    case $file in *_avx2.c | *_avx512*.c) continue ;; esac
    [ -f "$file" ] || continue
    flags=
    case $file in *_neondot.c) flags=-march=armv8.2-a+dotprod ;; esac
    # shellcheck disable=SC2086
    "$cc" -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter -D_GNU_SOURCE $flags -I. \
        -DPENSTOCK_VERSION='""' -c "$file" -o "$out/object.o"
    count=$((count + 1))
done
echo "$count files compile for AArch64"
