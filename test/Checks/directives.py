#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that lit tests check something: each has a RUN line that reads the file or states what must
hold, each FileCheck directive has a prefix that a RUN line names, and each file in a folder Inputs is
named by a test."""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIRECTIVE = re.compile(
    r"^\s*(?://|#)?\s*([A-Z][A-Z0-9_]*)(?:-(?:NEXT|SAME|DAG|NOT|LABEL|EMPTY|COUNT-\d+))?:\s")
NO_PREFIX = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "END", "DEFINE", "REDEFINE", "TODO", "NOTE"}
OUTSIDE = {"Unit", "Conformance", "Checks", "Long", "Fuzz", "Models", "RandomGraphs"}


def lit_files():
    for folder, folders, names in os.walk(ROOT):
        if folder == ROOT:
            folders[:] = [name for name in folders if name not in OUTSIDE]
        if "Inputs" not in os.path.relpath(folder, ROOT).split(os.sep):
            for name in names:
                if name.endswith((".mlir", ".test")):
                    yield os.path.join(folder, name)


def check_file(path, text):
    runs = re.findall(r"RUN:(.*)", text)
    if not runs:
        return ["has no RUN line"]
    joined = "\n".join(runs)
    named = {prefix for value in re.findall(r"-check-prefix(?:es)?[= ](\S+)", joined)
             for prefix in value.split(",")}  # fmt: skip
    if re.search(r"FileCheck(?!\S*[^\n|;&]*-check-prefix)", joined):
        named.add("CHECK")
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = DIRECTIVE.match(line)
        if match and match.group(1) not in NO_PREFIX:
            found.setdefault(match.group(1), number)
    return [f"line {line}: no RUN line reads the directives {prefix}"
            for prefix, line in found.items() if prefix not in named]  # fmt: skip


def main():
    errors, checked, everything = [], 0, ""
    for path in sorted(lit_files()):
        with open(path) as handle:
            text = handle.read()
        everything += text
        checked += 1
        errors += [f"{os.path.relpath(path, ROOT)}: {message}" for message in check_file(path, text)]
    inputs = []
    for folder, folders, names in os.walk(ROOT):
        parts = os.path.relpath(folder, ROOT).split(os.sep)
        if "Inputs" in parts and parts[0] not in OUTSIDE:
            inputs += [os.path.join(folder, name) for name in names if "__pycache__" not in folder]
    for path in inputs:
        with open(path, errors="replace") as handle:
            everything += handle.read() if path.endswith(".py") else ""
    for path in sorted(inputs):
        name = os.path.basename(path)
        checked += 1
        if name not in everything and f"import {name[:-3]}" not in everything:
            errors.append(f"{os.path.relpath(path, ROOT)}: no test reads it")
    for line in errors:
        print("error:", line)
    print(f"ran {checked} tests")
    return 1 if errors or checked < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
