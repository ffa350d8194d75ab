# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands that tests of what is installed run, and what they expect of them."""

import re
import subprocess


class Failure(Exception):
    pass


def run(*command, code=0, **options):
    """What the command prints."""
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode != code:
        raise Failure(f"{' '.join(command)}: exit {result.returncode}, expected {code}\n"
                      f"{(result.stdout + result.stderr)[-3000:]}")  # fmt: skip
    return result.stdout + result.stderr


def expect(text, pattern):
    if not re.search(pattern, text):
        raise Failure(f"{pattern!r} is not in:\n{text[-2000:]}")
