#!/bin/sh
# Holds the tree to the rules of the house: who may include whom, sizes of files and functions, line
# length, and what must never be committed. Prints every breach with its place; exits 1 if there is one.
# Usage: tests/house/check.sh [FOLDER OF THE SOURCES]
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 2
found=$(mktemp)
trap 'rm -f "$found"' EXIT
say() { printf '%s\n' "$1" >>"$found"; }

sources() { # every file of ours with one of these suffixes
    for suffix in "$@"; do
        find runtime scheduler kvcache kernels server parallel bench tests -name "*.$suffix" -type f \
            2>/dev/null
    done
}

# One pass over all sources. A folder may include its own files and those of folders to its right:
#   server -> scheduler -> runtime -> parallel -> kernels -> kvcache -> runtime/base
# A function begins with a brace in column 0 and ends with one.
# shellcheck disable=SC2046
awk '
    function floor_of(path) {
        if (path ~ /^runtime\/base\//) return 0
        if (path ~ /^kvcache\//) return 1
        if (path ~ /^kernels\//) return 2
        if (path ~ /^parallel\//) return 3
        if (path ~ /^runtime\//) return 4
        if (path ~ /^scheduler\//) return 5
        if (path ~ /^server\//) return 6
        if (path ~ /^bench\//) return 7
        return path ~ /^tests\// ? 8 : 9
    }
    function end_of_file() {
        if (file == "") return
        if (header && lines > 150) print file ": " lines " lines; a header has up to 150"
        if (!header && lines > 1000) print file ": " lines " lines; a source never has over 1,000"
        if (header && ours && !thread) print file ": its first comment does not name the thread"
    }
    FNR == 1 {
        end_of_file()
        file = FILENAME
        header = file ~ /\.(h|cuh)$/
        ours = file !~ /^(tests|bench)\//
        limit = file ~ /^kernels\// ? 150 : 70
        thread = start = 0
    }
    { lines = FNR }
    FNR <= 25 && tolower($0) ~ /thread/ { thread = 1 }
    length($0) > 100 && !/https?:/ { print file ":" FNR ": " length($0) " columns; the limit is 100" }
    /^#include "/ {
        path = $0
        sub(/^#include "/, "", path)
        sub(/".*/, "", path)
        if (!(path in exists)) exists[path] = (getline ignored < path) >= 0
        close(path)
        if (!exists[path]) print file ":" FNR ": \"" path "\" is not root-relative or does not exist"
        if (path ~ /\.c$/) print file ":" FNR ": a .c is included"
        if (floor_of(path) > floor_of(file))
            print file ":" FNR ": includes " path ", which is on a floor above it"
    }
    /^\{/ || /^[a-zA-Z].*\) \{$/ { start = FNR }
    /^\}/ {
        if (start && FNR - start + 1 > limit)
            print file ":" start ": a function of " FNR - start + 1 " lines; the limit is " limit
        start = 0
    }
    END { end_of_file() }' $(sources c h cu cuh) >>"$found"
for file in $(sources sh py) quickstart.sh test.sh; do
    lines=$(wc -l <"$file")
    [ "$lines" -le 1000 ] || say "$file: $lines lines; a script never has over 1,000"
done

# What is left open, and what belongs to one machine only.
left='\b(TO''DO|FIX''ME|XX''X)\b'
# shellcheck disable=SC2046
grep -nE "$left" $(sources c h cu cuh sh py) quickstart.sh test.sh >>"$found"
# shellcheck disable=SC2046
grep -nE '(^|[^a-zA-Z0-9_.-])/(work|opt/tools)/' $(sources c h cu cuh sh py) quickstart.sh test.sh >>"$found"

if [ -s "$found" ]; then
    cat "$found"
    echo "$(wc -l <"$found") breaches of the rules of the house"
    exit 1
fi
echo "the rules of the house hold"
