# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The repository's pages and the code blocks in them, for the tests that hold them to the truth.

A comment in front of a block, which readers do not see, says what a test needs to know of it:

  <!-- setup: COMMANDS -->    run before it (SOURCE is the repository)
  <!-- file: NAME -->         it is the contents of a file, which a later block uses
  <!-- run by: FILE -->       another test runs it
  <!-- not run: REASON -->
"""

import collections
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
# Programs wrote these pages (benchmarks/results, docs/generated), and keep them true.
WRITTEN = re.compile(r"benchmarks/results/|docs/generated/|examples/\w+/accuracy\.md$")
MARKERS = ("setup", "file", "run by", "not run")
BLOCK = re.compile(r"((?:^ *<!--(?:(?!-->).)*-->\n)*)^( *)```(\S*)\n(.*?)^ *```$", re.M | re.S)

Block = collections.namedtuple("Block", "line language text markers")


def names():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            check=True, capture_output=True, text=True).stdout.split()  # fmt: skip
    return sorted(name for name in listed if not WRITTEN.match(name) and os.path.isfile(os.path.join(ROOT, name)))


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as handle:
        return handle.read()


def is_text(name):
    with open(os.path.join(ROOT, name), "rb") as handle:
        return b"\0" not in handle.read(8192)


def blocks(name):
    """The fenced blocks of a page, in its order."""
    text = read(name)
    result = []
    for match in BLOCK.finditer(text):
        comments, indent, language, code = match.groups()
        markers = dict(re.findall(rf"<!-- ({'|'.join(MARKERS)}): (.*?)\s-->", comments, re.S))
        code = re.sub(rf"^{indent}", "", code, flags=re.M)
        result.append(Block(text.count("\n", 0, match.start(3)) + 1, language, code, markers))
    if 2 * len(result) != len(re.findall(r"^ *```", text, re.M)):
        raise ValueError(f"{name}: a fence that does not belong to a block")
    return result
