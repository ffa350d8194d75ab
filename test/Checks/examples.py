#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples in the descriptions of ops and attributes are IR: each parses and prints as it parses again.

usage: examples.py BUILD

Values that an example does not define become arguments of a function around it, of the types that
the parser wants; symbols need not be there."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from sources import ROOT  # noqa: E402

MNEMONIC = '" # mnemonic # "'  # in the description of a class of ops
EXAMPLE = re.compile(r"Example:\s*(?:`([^`\n]+)`|```mlir\n(.*?)```)", re.S)
WANTED = re.compile(r"use of value '(%[\w#]+)' expects different type than prior uses: '(.*)' vs '(.*)'")


def parse(tool, text):
    return subprocess.run([tool, "--mlir-very-unsafe-disable-verifier-on-parsing", "--verify-each=false", "-"], input=text, capture_output=True, text=True, timeout=60)


def module_of(tool, example):
    """The example in a module that parses, or what the parser says of it."""
    if example.startswith("#"):
        text = f"module attributes {{example = {example}}} {{}}\n"
        result = parse(tool, text)
        return (result.stdout, "") if result.returncode == 0 else ("", result.stderr)
    if not re.match(r"%|mpc\.yield|mpcrt\.(?!view)", example) and "%" not in example.split("{")[0]:
        result = parse(tool, example)
        return (result.stdout, "") if result.returncode == 0 else ("", result.stderr)
    defined = set(re.findall(r"(%\w+)(?::\d+)?(?=[\w%:, ]*=[^=])", example)) | set(re.findall(r"(%\w+): ", example))
    types = {name: "i1" for name in dict.fromkeys(re.findall(r"%\w+", example)) if name not in defined}
    for _ in range(len(types) + 1):
        arguments = ", ".join(f"{name}: {kind}" for name, kind in types.items())
        result = parse(tool, f"func.func @example({arguments}) {{\n{example}\nreturn\n}}\n")
        if result.returncode == 0:
            return result.stdout, ""
        wanted = WANTED.search(result.stderr)
        if not wanted or wanted[1] not in types or types[wanted[1]] != wanted[3]:
            return "", result.stderr
        types[wanted[1]] = wanted[2]
    return "", "no types fit"


def examples_of(text):
    """The line of each example, and it; of a class of ops one for each op."""
    for found in EXAMPLE.finditer(text):
        example, line = (found[1] or found[2]).strip(), text.count("\n", 0, found.start()) + 1
        if MNEMONIC not in example:
            yield line, example
            continue
        name = re.findall(r"^class (\w+)<", text[: found.start()], re.M)[-1]
        classes = [name, *re.findall(rf"^class (\w+)<[^{{]*?: {name}<", text, re.M)]
        for mnemonic in re.findall(rf'^def \w+ : (?:{"|".join(classes)})<"(\w+)"', text, re.M):
            yield line, example.replace(MNEMONIC, mnemonic)


def main():
    tool = os.path.join(sys.argv[1], "bin", "mpc-opt")
    faults, ran = [], 0
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "dialects/*.td"], capture_output=True, text=True, check=True).stdout.split()
    for name in files:
        with open(os.path.join(ROOT, name), encoding="utf-8") as handle:
            text = handle.read()
        for line, example in examples_of(text):
            ran += 1
            printed, problem = module_of(tool, example)
            if not problem:
                again = parse(tool, printed)
                problem = again.stderr or ("" if again.stdout == printed else "prints differently when it is parsed again")
            if problem:
                faults.append(f"{name}:{line}: the example is no IR: {problem.splitlines()[0]}\n  {example.splitlines()[0]}")
    for fault in faults:
        print(f"FAIL  {fault}")
    print(f"ran {ran} tests")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
