#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes CaseMappings.inc: Unicode's simple case mappings, one code point for one, as Python's unicodedata has them.

  case_mappings.py OUT
"""

import sys
import unicodedata

VERSION = unicodedata.unidata_version
HEAD = f"""// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Simple case mappings of Unicode {VERSION}; written by case_mappings.py, do not edit.
// Rows: the first code point, the last, every which one, what is added.
"""
# Full mappings of one code point that are several; the simple ones of UnicodeData.txt are these.
SINGLE = {("lower", 0x130): 0x69}


def simple(kind, point):
    """What the code point becomes; itself where its mapping is several code points and no simple one is known."""
    if (kind, point) in SINGLE:
        return SINGLE[kind, point]
    text = getattr(chr(point), kind)()
    if len(text) > 1 and kind == "upper":
        # Greek letters with iota below: their capital is the title-case letter.
        text = chr(point).title()
    return ord(text) if len(text) == 1 else point


def runs(kind):
    """Rows of equal distance, of neighbours or of every second code point."""
    changed = [(point, simple(kind, point) - point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    changed = [(point, delta) for point, delta in changed if delta]
    rows, place = [], 0
    while place < len(changed):
        first, delta = changed[place]
        best = (first, first, 1, delta, 1)
        for step in (1, 2):
            end = place
            while end + 1 < len(changed) and changed[end + 1] == (changed[end][0] + step, delta):
                end += 1
            if end - place + 1 > best[4]:
                best = (first, changed[end][0], step, delta, end - place + 1)
        rows.append(best[:4])
        place += best[4]
    return rows


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(HEAD)
        for kind in ("lower", "upper"):
            for first, last, step, delta in runs(kind):
                file.write(f"MPC_{kind.upper()}({first:#x}, {last:#x}, {step}, {delta})\n")


if __name__ == "__main__":
    main()
