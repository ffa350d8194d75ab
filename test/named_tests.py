# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs named tests one after another: the end of every suite that is a Python script."""

import sys


def methods(suite):
    """The tests that a suite's class has, by name."""
    return {name: getattr(suite, name) for name in sorted(dir(suite)) if name.startswith("test_")}


def run(tests):
    """Runs functions by name, of which each raises where it fails; what one returns is printed.

    Ends with the line that run-suite.py reads; gives the exit status.
    """
    failed = 0
    for name, test in tests.items():
        try:
            said = test()
            print(f"ok    {name}" + (f" {said}" if said else ""))
        except Exception as problem:
            failed += 1
            kind = "" if type(problem).__module__ == "__main__" else type(problem).__name__ + ": "
            print(f"FAIL  {name}: {kind}{problem}")
        sys.stdout.flush()
    print(f"ran {len(tests)} tests")
    return 1 if failed or not tests else 0
