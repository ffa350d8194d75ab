# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs named tests: the end of every suite that is a Python script."""

import concurrent.futures
import sys


def methods(suite):
    """The tests that a suite's class has, by name."""
    return {name: getattr(suite, name) for name in sorted(dir(suite)) if name.startswith("test_")}


def run(tests, jobs=1):
    """Runs functions by name, of which each raises where it fails; what one returns is printed.

    With several `jobs`, tests that share no files run at a time; lines keep the order of the tests.
    Ends with the line that run-suite.py reads; gives the exit status.
    """

    def line(name, test):
        try:
            said = test()
            return True, f"ok    {name}" + (f" {said}" if said else "")
        except Exception as problem:
            kind = "" if type(problem).__module__ == "__main__" else type(problem).__name__ + ": "
            return False, f"FAIL  {name}: {kind}{problem}"

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        lines = pool.map(line, tests, tests.values()) if jobs > 1 else map(line, tests, tests.values())
        for passed, text in lines:
            failed += not passed
            print(text, flush=True)
    print(f"ran {len(tests)} tests")
    return 1 if failed or not tests else 0
