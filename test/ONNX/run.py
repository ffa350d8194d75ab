# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs ONNX's conformance cases. Each ends in one of these ways:

  pass      all outputs have ONNX's shapes and element types, and its values within its tolerance
  refused   mpcc ends with 1 and a message; expected.json lists the case with that message
  rounded   as pass, but for 16-bit results that differ in their last place, beyond ONNX's tolerance; listed as refused are
  wrong     other numbers, shapes or types
  broken    anything else: a crash, an internal error, no end, or the runtime refuses what mpcc compiled

Fails when a case is wrong or broken, when a refused one is not listed or refused for another reason, when a listed one
is not refused, and when fewer cases pass than expected.json says for their opset.

  run.py BIN [--every N] [--shard I/N] [--kind KIND] [--case REGEX] [--listed] [--jobs N] [--keep FOLDER] [--write]
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
import comparison
import execution

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = os.path.join(HERE, "expected.json")
SECONDS = 300
LISTED = ("refused", "rounded")

Outcome = collections.namedtuple("Outcome", "case status reason")


def message(text):
    """The first error of a tool, without its file."""
    for line in text.splitlines():
        if line.startswith("error: "):
            return re.sub(r"^error: (\S*/)?m\.onnx:\s*", "", line)
    return text.strip()[-300:]


def tool(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def open_batch(case):
    """The samples of the case's inputs whose first extent the model leaves open; None where there is none."""
    for value in case.model.graph.input:
        shape = value.type.tensor_type.shape.dim
        array = case.inputs.get(value.name)
        if shape and not shape[0].HasField("dim_value") and getattr(array, "ndim", 0):
            return array.shape[0]
    return None


def run_case(case, binaries, folder):
    path = os.path.join(folder, "m.onnx")
    with open(path, "wb") as file:
        file.write(case.model.SerializeToString())
    compiled = os.path.join(folder, "m.mpc")
    command = [os.path.join(binaries, "mpcc"), path, "-o", compiled, "--name=m", "--march=native", "-q"]
    done = tool(*command)
    batch = open_batch(case)
    if done.returncode == 1 and "--batch=N" in done.stderr and batch:
        done, batch = tool(*command, f"--batch={batch}"), None
    if done.returncode == 1:
        return "refused", message(done.stderr)
    if done.returncode != 0:
        return "broken", f"mpcc ended with {done.returncode}: {message(done.stderr)}"
    return comparison.compare(case, execution.run_apart(binaries, compiled, case.inputs, SECONDS, 1 if batch is None else batch))


def attempt(case, binaries, keep):
    folder = os.path.join(keep, case.name) if keep else tempfile.mkdtemp(prefix="mpc-onnx-")
    os.makedirs(folder, exist_ok=True)
    try:
        return Outcome(case, *run_case(case, binaries, folder))
    except subprocess.TimeoutExpired as late:
        return Outcome(case, "broken", f"{os.path.basename(late.cmd[0])} has not ended after {SECONDS} s")
    except execution.Unfit as unfit:
        return Outcome(case, "broken", str(unfit))
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def select(arguments, found):
    if arguments.kind:
        found = [case for case in found if case.name.startswith(arguments.kind + "/")]
    if arguments.case:
        found = [case for case in found if re.search(arguments.case, case.name)]
    if arguments.listed:
        with open(EXPECTED, encoding="utf-8") as file:
            listed = json.load(file)["refused"]
        found = [case for case in found if case.name in listed]
    index, count = map(int, arguments.shard.split("/"))
    return found[:: arguments.every][index::count]


def write_expected(outcomes, every_case):
    """Takes over which of the cases that ran are refused, and from all cases how many pass for each opset."""
    with open(EXPECTED, encoding="utf-8") as file:
        refused = json.load(file)["refused"]
    for outcome in outcomes:
        refused.pop(outcome.case.name, None)
        if outcome.status in LISTED:
            refused[outcome.case.name] = outcome.reason
    passes = collections.Counter(case.opset for case in every_case if case.name not in refused)
    with open(EXPECTED, "w", encoding="utf-8") as file:
        json.dump({"passes": {str(opset): passes[opset] for opset in sorted(passes)}, "refused": refused}, file, indent=1, sort_keys=True)
        file.write("\n")


def faults(outcomes, expected, is_whole):
    """A line for each way in which the outcomes are not those of expected.json."""
    listed = expected["refused"]
    for outcome in outcomes:
        reason = listed.get(outcome.case.name)
        if outcome.status in ("wrong", "broken"):
            yield f"{outcome.status}: {outcome.case.name}: {outcome.reason}"
        elif outcome.status == "pass" and reason is not None:
            yield f"passes: {outcome.case.name}: is listed as refused; run again with --write"
        elif outcome.status in LISTED and reason is None:
            yield f"{outcome.status}: {outcome.case.name}: {outcome.reason}"
        elif outcome.status in LISTED and reason != outcome.reason:
            yield f"{outcome.status}: {outcome.case.name}: {outcome.reason}; listed is another reason: {reason}"
    if is_whole:
        counts = collections.Counter(str(outcome.case.opset) for outcome in outcomes if outcome.status == "pass")
        for opset, floor in expected["passes"].items():
            if counts[opset] < floor:
                yield f"opset {opset}: {counts[opset]} cases pass; expected {floor} at least"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--kind", choices=list(cases.COUNTS))
    parser.add_argument("--case")
    parser.add_argument("--listed", action="store_true", help="those that expected.json lists as refused")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep")
    parser.add_argument("--write", action="store_true", help="expected.json takes over which of these are refused")
    arguments = parser.parse_args()
    every_case = cases.load()
    selected = select(arguments, every_case)
    is_whole = len(selected) == len(every_case)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = list(pool.map(lambda case: attempt(case, arguments.binaries, arguments.keep), selected))
    counts = collections.Counter(outcome.status for outcome in outcomes)
    if arguments.write:
        write_expected(outcomes, every_case)
    with open(EXPECTED, encoding="utf-8") as file:
        lines = list(faults(outcomes, json.load(file), is_whole))
    print("".join(line + "\n" for line in lines), end="")
    print(" ".join(f"{status} {counts[status]}" for status in ("pass", "refused", "rounded", "wrong", "broken")))
    print(f"ran {len(outcomes)} tests")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
