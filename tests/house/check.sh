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

# A folder may include its own files and those of folders to its right.
#   server -> scheduler -> runtime -> parallel -> kernels -> kvcache -> runtime/base
floor_of() { # of a root-relative path
    case $1 in
    runtime/base/*) echo 0 ;;
    kvcache/*) echo 1 ;;
    kernels/*) echo 2 ;;
    parallel/*) echo 3 ;;
    runtime/*) echo 4 ;;
    scheduler/*) echo 5 ;;
    server/*) echo 6 ;;
    bench/*) echo 7 ;;
    tests/*) echo 8 ;;
    *) echo 9 ;;
    esac
}
for file in $(sources c h cu cuh S); do
    own=$(floor_of "$file")
    grep -n '^#include "' "$file" | sed 's/^\([0-9]*\):#include "\(.*\)".*/\1 \2/' |
        while read -r line path; do
            [ -f "$path" ] || [ -f "build/$path" ] ||
                say "$file:$line: \"$path\" is not root-relative or does not exist"
            case $path in *.c) say "$file:$line: a .c is included" ;; esac
            [ "$(floor_of "$path")" -le "$own" ] ||
                say "$file:$line: includes $path, which is on a floor above it"
        done
done

# Sizes. A function begins with a brace in column 0 and ends with one.
for file in $(sources c h cu cuh); do
    lines=$(wc -l <"$file")
    case $file in
    *.h | *.cuh) [ "$lines" -le 150 ] || say "$file: $lines lines; a header has up to 150" ;;
    *) [ "$lines" -le 1000 ] || say "$file: $lines lines; a source never has over 1,000" ;;
    esac
    limit=70
    case $file in kernels/*) limit=150 ;; esac
    awk -v file="$file" -v limit="$limit" '
        length($0) > 100 && !/https?:/ { print file ":" NR ": " length($0) " columns; the limit is 100" }
        /^\{/ { start = NR }
        /^[a-zA-Z].*\) \{$/ { start = NR }
        /^\}/ { if (start && NR - start + 1 > limit)
                    print file ":" start ": a function of " NR - start + 1 " lines; the limit is " limit
                start = 0 }' "$file" >>"$found"
done
for file in $(sources sh py) quickstart.sh test.sh; do
    lines=$(wc -l <"$file")
    [ "$lines" -le 1000 ] || say "$file: $lines lines; a script never has over 1,000"
done

# Every header says who may touch it.
for file in $(find runtime scheduler kvcache kernels server parallel -name '*.h'); do
    head -25 "$file" | grep -qi 'thread' || say "$file: its first comment does not name the thread"
done

# What is left open, and what belongs to one machine only.
left='\b(TO''DO|FIX''ME|XX''X)\b'
for file in $(sources c h cu cuh sh py) quickstart.sh test.sh; do
    grep -nE "$left" "$file" | sed "s|^|$file:|" >>"$found"
    grep -nE '(^|[^a-zA-Z0-9_.-])/(work|opt/tools)/' "$file" | sed "s|^|$file:|" >>"$found"
done

if [ -s "$found" ]; then
    cat "$found"
    echo "$(wc -l <"$found") breaches of the rules of the house"
    exit 1
fi
echo "the rules of the house hold"
