#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up what run-suite.py wrote: how many single tests ran, and in how many suites."""

import glob
import json
import os
import sys


def main():
    records = []
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.json"))):
        with open(path) as handle:
            records.append(json.load(handle))
    print(f"\n{sum(record['ran'] for record in records)} tests ran in {len(records)} suites\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
