#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of operations that a Functional model may record, against what the importer has.

  test/Checks/operations.py           fails when docs/generated/operations.md is not what the sources say
  test/Checks/operations.py --write   writes it

Keras's operations are test/Checks/keras-operations.json, the classes of keras/src/ops/*.py
and keras/src/activations/*.py; the importer's are the families' tables in lib/Import/Keras/Operations.
"""

import glob
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = os.path.join(ROOT, "docs", "generated", "operations.md")
# Why whole groups are refused, by name.
REASONS = [
    ("complex numbers are not supported", r"ViewAsComplex|Polar|Eig"),
    ("runs Python code", r"AssociativeScan|Cond|ForiLoop|Map|Scan|Switch|VectorizedMap|WhileLoop|JVP"),
    ("the result's shape depends on the data", r"Nonzero|Unique|Bincount|Histogram"),
    ("bits of numbers", r"Nextafter|View"),
    ("by iteration", r"Eigh|SVD|Pinv|MatrixRank"),
    ("draws random numbers", r"ElasticTransform"),
    ("fails in Keras 3.15.1 as it is recorded", r"Mish"),
    ("fails in Keras 3.15.1 for a batch", r"Argpartition|Corrcoef|LuFactor|Scatter"),
    ("makes no tensor of a tensor", r"Array|Arange|Geomspace|Linspace|Logspace|Ndim|Size|AllClose|Full|Meshgrid"),
    ("moves elements across samples", r"Correlate|Lstsq|MapCoordinates|ScatterUpdate|Ravel|Flipud|Vstack|Vsplit|Diag|Diagflat|Kron|Vdot|Segment\w+|Dstack|Outer"),
]  # fmt: skip


def imported():
    names = set()
    for path in glob.glob(os.path.join(ROOT, "lib", "Import", "Keras", "Operations", "*.cpp")):
        with open(path) as handle:
            for table in re.findall(r"constexpr OperationEntry \w+\[\] = \{(.*?)\n\};", handle.read(), re.S):
                names.update(re.findall(r'\{"(\w+)",', table))
    return names


def reason(name):
    return next((why for why, pattern in REASONS if re.fullmatch(pattern, name)), "")


def make_table(keras, known):
    lines = ["<!-- Written by test/Checks/operations.py --write; do not edit. -->", "",
             f"Operations of `keras.ops` and `keras.activations` (Keras {keras['keras']}) that a Functional model records, by their classes. "
             "What mpc does not have is refused with the place in the model; a few of the others refuse some arguments.", "",
             "| module | imported | refused |", "|---|---|---|"]  # fmt: skip
    count = total = 0
    for module, names in keras["operations"].items():
        total += len(names)
        here = [name for name in names if name in known]
        count += len(here)
        groups = {}
        for name in names:
            if name not in known:
                groups.setdefault(reason(name), []).append(name)
        refused = "; ".join((f"{why}: " if why else "") + ", ".join(group) for why, group in sorted(groups.items()))
        lines.append(f"| {module} | {', '.join(here)} | {refused} |")
    return "\n".join(lines + ["", f"{count} of {total}.", ""])


def main():
    with open(os.path.join(ROOT, "test", "Checks", "keras-operations.json")) as handle:
        keras = json.load(handle)
    known = imported()
    every = {name for names in keras["operations"].values() for name in names}
    failures = [f"{name}: no operation of Keras is called so" for name in sorted(known - every)]
    table = make_table(keras, known)
    if "--write" in sys.argv[1:]:
        with open(TABLE, "w") as handle:
            handle.write(table)
    with open(TABLE) as handle:
        if handle.read() != table:
            failures.append(f"{TABLE}: is stale; run test/Checks/operations.py --write")
    print("\n".join(failures + [f"ran {len(known)} tests"]))
    return 1 if failures or not known else 0


if __name__ == "__main__":
    sys.exit(main())
