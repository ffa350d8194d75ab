# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tables of layers and of operations have in common: cells of what is refused, and the check itself."""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(*path):
    with open(os.path.join(ROOT, *path)) as handle:
        return handle.read()


def refused(names, known, reasons):
    """The names that are not known, by reason: `reasons` are pairs of a reason and a pattern of names."""
    groups = {}
    for name in names:
        if name not in known:
            why = next((why for why, pattern in reasons if re.fullmatch(pattern, name)), "")
            groups.setdefault(why, []).append(name)
    return "; ".join((f"{why}: " if why else "") + ", ".join(group) for why, group in sorted(groups.items()))


def check(kind, keras, known, table):
    """Writes docs/generated/<kind>s.md with --write, and fails when it is stale or Keras has no such name."""
    every = {name for names in keras[kind + "s"].values() for name in names}
    failures = [f"{name}: no {kind} of Keras is called so" for name in sorted(known - every)]
    page = os.path.join("docs", "generated", kind + "s.md")
    if "--write" in sys.argv[1:]:
        with open(os.path.join(ROOT, page), "w") as handle:
            handle.write(table)
    if read(page) != table:
        failures.append(f"{page}: is stale; run test/Checks/{kind}s.py --write")
    print("\n".join(failures + [f"ran {len(known)} tests"]))
    return 1 if failures or not known else 0
