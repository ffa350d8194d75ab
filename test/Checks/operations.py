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

from support_tables import ROOT, check, read, refused

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
        for table in re.findall(r"constexpr OperationEntry \w+\[\] = \{(.*?)\n\};", read(path), re.S):
            names.update(re.findall(r'\{"(\w+)",', table))
    return names


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
        lines.append(f"| {module} | {', '.join(here)} | {refused(names, known, REASONS)} |")
    return "\n".join(lines + ["", f"{count} of {total}.", ""])


def main():
    keras = json.loads(read("test", "Checks", "keras-operations.json"))
    known = imported()
    return check("operation", keras, known, make_table(keras, known))


if __name__ == "__main__":
    sys.exit(main())
