#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that every suite with a number in test/counts.json is registered with ctest, so that a
suite cannot vanish unseen. Takes the build folder."""

import json
import os
import subprocess
import sys


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "counts.json")) as handle:
        wanted = json.load(handle)
    listing = subprocess.run(
        ["ctest", "--test-dir", sys.argv[1], "--show-only=json-v1"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    registered = {test["name"] for test in json.loads(listing)["tests"]}
    missing = sorted(set(wanted) - registered)
    for name in missing:
        print(f"error: {name}: test/counts.json expects {wanted[name]} tests, ctest has no such suite")
    print(f"ran {len(wanted) + 1} tests")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
