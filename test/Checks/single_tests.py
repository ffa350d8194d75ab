#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what CONTRIBUTING.md says for running a single test of each kind, and checks that each command runs
few tests, and at least one. Takes the build folder, which stands in the place of the page's."""

import os
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import named_tests  # noqa: E402  pylint: disable=wrong-import-position
import pages  # noqa: E402  pylint: disable=wrong-import-position

RAN = re.compile(r"Passed *: *(\d+)|\[  PASSED  \] (\d+) tests?|^ran (\d+) tests|^Ran (\d+) tests?|out of (\d+)$", re.M)


class Wrong(Exception):
    pass


def check(command, build):
    command = command.replace("build/release", build)
    environment = {key: value for key, value in os.environ.items() if key != "MPC_FIXTURES"}
    environment.update(MPC_BUILD_DIR=build, MPC_BUILD=build)
    result = subprocess.run(shlex.split(command), cwd=pages.ROOT, capture_output=True, text=True, env=environment)
    counts = [int(number) for groups in RAN.findall(result.stdout + result.stderr) for number in groups if number]
    if result.returncode or not counts or not 1 <= counts[-1] <= 40:
        raise Wrong(f"exit {result.returncode}, tests {counts}\n{(result.stdout + result.stderr)[-2000:]}")
    return f"({counts[-1]} ran)"


def main():
    build = os.path.abspath(sys.argv[1])
    commands = [line for block in pages.blocks("CONTRIBUTING.md") if "single_tests" in block.markers.get("run by", "")
                for line in block.text.splitlines()]  # fmt: skip
    return named_tests.run({command: lambda command=command: check(command, build) for command in commands})


if __name__ == "__main__":
    sys.exit(main())
