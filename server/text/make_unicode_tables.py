#!/usr/bin/env python3
"""Writes tokenizer_unicode_tables.c: what the published tokenizer libraries know of Unicode.

Usage: make_unicode_tables.py PYTHON36 > tokenizer_unicode_tables.c
Needs the `tokenizers` package (its regular expressions are Unicode 16), a Python whose unicodedata is
Unicode 14 (3.11), and PYTHON36, the path of a Python 3.6 (Unicode 9, as the normalisation forms of
`tokenizers`).
"""
import subprocess
import sys
import unicodedata

from tokenizers import Regex, pre_tokenizers

CATEGORIES = ["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
              "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Cf"]
# category -> stand-ins of three and of four bytes, in every Unicode since 14
TWINS = {"Lu": (0x1E00, 0x10400), "Ll": (0x1E01, 0x10428), "Lm": (0x1D2C, 0x16B40),
         "Lo": (0xA000, 0x10280), "Han": (0xF900, 0x2F800), "Mn": (0x0900, 0x101FD),
         "Mc": (0x0903, 0x11000), "Nd": (0x0966, 0x104A0), "Nl": (0x2160, 0x10140),
         "No": (0x09F4, 0x10107), "Pd": (0x2010, 0x10EAD), "Po": (0x0964, 0x10100),
         "Sm": (0x2200, 0x1D6C1), "Sc": (0x20A0, 0x11FDD), "Sk": (0xA700, 0x1F3FB),
         "So": (0x2100, 0x10137), "Cf": (0x200B, 0x110BD)}
POINTS = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]


def members(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    return {ord(c) for piece, _ in split.pre_tokenize_str("".join(map(chr, POINTS))) for c in piece}


def ranges(items):
    out = []
    for c, value in items:
        if out and out[-1][1] == c - 1 and out[-1][2] == value:
            out[-1][1] = c
        else:
            out.append([c, c, value])
    return out


def table(rows):
    line = "   "
    for row in rows:
        cell = " {" + ", ".join(row) + "},"
        if len(line) + len(cell) > 100:
            print(line)
            line = "   "
        line += cell
    print(line)


def main():
    assert unicodedata.unidata_version == "14.0.0", unicodedata.unidata_version
    category = {}
    for name in CATEGORIES:
        for c in members(f"\\p{{{name}}}"):
            category[c] = name
    for c in members("\\p{Han}"):
        if category[c] == "Lo":
            category[c] = "Han"
    twins = [(c, TWINS[category[c]][c >= 0x10000]) for c in POINTS
             if c in category and unicodedata.category(chr(c)) == "Cn"]
    code = ("import unicodedata as u,sys;assert u.unidata_version=='9.0.0';"
            "print([c for c in range(0x300,0x110000) if u.category(chr(c))=='Cn'])")
    late = eval(subprocess.run([sys.argv[1], "-c", code], capture_output=True, check=True).stdout)
    print("/* tokenizer_unicode_tables.c - written by make_unicode_tables.py; see tokenizer_unicode.h. */")
    print('#include "server/text/tokenizer_unicode_tables.h"\n')
    print("/* clang-format off */")
    print("const struct unicode_twin_range unicode_twin_ranges[] = {")
    rows = ranges(twins)
    table([f"0x{a:X}", f"0x{b:X}", f"0x{t:X}"] for a, b, t in rows)
    print("};\nconst int unicode_twin_range_count = %d;\n" % len(rows))
    print("const struct unicode_range unicode_late_ranges[] = {")
    rows = ranges((c, 0) for c in late)
    table([f"0x{a:X}", f"0x{b:X}"] for a, b, _ in rows)
    print("};\nconst int unicode_late_range_count = %d;" % len(rows))


main()
