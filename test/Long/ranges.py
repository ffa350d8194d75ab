# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ranges.py RANGES_TEST: the search for numbers outside of proved ranges, two types at a time."""

import concurrent.futures
import subprocess
import sys

TESTS = [f"Types/SearchRanges.FindsNothingOutside/{index}" for index in range(4)]


def run(name):
    return subprocess.run(
        [sys.argv[1], f"--gtest_filter={name}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def main():
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, result in zip(TESTS, pool.map(run, TESTS)):
            if result.returncode or "[  PASSED  ] 1 test." not in result.stdout:
                failed += 1
                print(f"{name}:\n{result.stdout[-4000:]}")
    print(f"ran {len(TESTS)} tests")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
