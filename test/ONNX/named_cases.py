# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of a script whose cases have names: SCRIPT BIN [--only REGEX] [--keep FOLDER] [--seed S]"""

import argparse
import re
import tempfile

import numpy as np


def run(cases, check):
    """Prints what `check(name, binaries, folder, draw)` says is wrong, and the line that run-suite.py reads; gives the
    exit status. A case draws the same numbers whichever others run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    faults, count = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for number, name in enumerate(cases, 1):
            if not re.search(arguments.only, name):
                continue
            count += 1
            fault = check(name, arguments.binaries, arguments.keep or scratch, np.random.default_rng([arguments.seed, number]))
            if fault:
                faults += 1
                print(f"wrong: {name}: {fault}")
    print(f"{faults} failed\nran {count} tests")
    return faults > 0
