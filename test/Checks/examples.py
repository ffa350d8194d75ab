#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples in the descriptions of ops and attributes are IR: each parses and prints as it parses again.

usage: examples.py BUILD

Values that an example does not define become arguments of a function around it, of the types that
the parser wants; symbols need not be there."""

import bisect
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from sources import ROOT  # noqa: E402

MNEMONIC = '" # mnemonic # "'  # in the description of a class of ops
EXAMPLE = re.compile(r"Example:\s*(?:`([^`\n]+)`|```mlir\n(.*?)```)", re.S)
WANTED = re.compile(r"use of value '(%[\w#]+)' expects different type than prior uses: '(.*)' vs '(.*)'")


class Example:
    def __init__(self, place, text):
        self.place, self.text = place, text
        self.printed = self.problem = ""
        self.types = None  # of the arguments that it wants, where it is the body of a function
        if not text.startswith("#") and (re.match(r"%|mpc\.yield|mpcrt\.(?!view)", text) or "%" in text.split("{")[0]):
            defined = set(re.findall(r"(%\w+)(?::\d+)?(?=[\w%:, ]*=[^=])", text)) | set(re.findall(r"(%\w+): ", text))
            self.types = {name: "i1" for name in dict.fromkeys(re.findall(r"%\w+", text)) if name not in defined}
            self.changes = len(self.types)  # that may be left

    def module(self):
        if self.text.startswith("#"):
            return f"module attributes {{example = {self.text}}} {{}}\n"
        if self.types is None:
            return self.text
        arguments = ", ".join(f"{name}: {kind}" for name, kind in self.types.items())
        return f"func.func @example({arguments}) {{\n{self.text}\nreturn\n}}\n"

    def take(self, printed, problem):
        """Whether it is to be tried again, with another type."""
        self.printed, self.problem = printed, problem
        wanted = WANTED.search(problem) if self.types else None
        if not wanted or wanted[1] not in self.types or self.types[wanted[1]] != wanted[3]:
            return False
        self.types[wanted[1]] = wanted[2]
        self.changes -= 1
        if self.changes < 0:
            self.problem = "no types fit"
        return self.changes >= 0


def parse(tool, texts):
    """What each text prints and what the parser says of it, by one process."""
    command = [tool, "--mlir-very-unsafe-disable-verifier-on-parsing", "--verify-each=false", "--split-input-file", "-"]
    starts, lines = [], 0
    for text in texts:
        starts.append(lines + 1)
        lines += text.count("\n") + 2
    result = subprocess.run(command, input="\n// -----\n".join(texts), capture_output=True, text=True, timeout=300)
    printed, problems = result.stdout.split("// -----\n"), [""] * len(texts)
    if len(printed) != len(texts):
        sys.exit(f"error: {len(texts)} examples, {len(printed)} parts of the output; {result.stderr[-500:]}")
    for message in re.split(r"^(?=<stdin>:\d+:\d+: error)", result.stderr, flags=re.M):
        if place := re.match(r"<stdin>:(\d+):", message):
            problems[bisect.bisect_right(starts, int(place[1])) - 1] += message
        elif message.strip():
            sys.exit(f"error: {message}")
    return list(zip(printed, problems))


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
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "dialects/*.td"], capture_output=True, text=True, check=True).stdout.split()
    examples = []
    for name in files:
        with open(os.path.join(ROOT, name), encoding="utf-8") as handle:
            examples += [Example(f"{name}:{line}", text) for line, text in examples_of(handle.read())]
    pending = examples
    while pending:
        results = parse(tool, [example.module() for example in pending])
        pending = [example for example, result in zip(pending, results) if example.take(*result)]
    sound = [example for example in examples if not example.problem]
    for example, (again, problem) in zip(sound, parse(tool, [example.printed for example in sound])):
        example.problem = problem or ("" if again == example.printed else "prints differently when it is parsed again")
    for example in examples:
        if example.problem:
            print(f"FAIL  {example.place}: the example is no IR: {example.problem.splitlines()[0]}\n  {example.text.splitlines()[0]}")
    print(f"ran {len(examples)} tests")
    return 1 if len(sound) < len(examples) or any(example.problem for example in examples) else 0


if __name__ == "__main__":
    sys.exit(main())
