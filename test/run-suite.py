#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one suite under ctest and checks that it ran as many tests as it should.

A suite that silently finds no tests, or skips them, would otherwise pass. The numbers in
counts.json are lower bounds, raised by hand as tests are added, with how many of them need
x86-64-v4, where some do; a suite without a number must run at least one test. What ran is written
to Testing/Counts/, where report-counts.py adds it up, and so is what was left out for want of
something that a place need not have: such tests count as if they had run, but are told.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

import places

# The reasons of lit's features, where a test may be left out for want of one.
FEATURES = {"models-of-others": places.WITHOUT_MODELS}


def run_gtest(command):
    output = stream(command)
    ran = re.findall(r"^\[=+\] (\d+) tests? from \d+ test suites? ran", output[1], re.M)
    skipped = re.findall(r"^\[  SKIPPED \] (\d+) tests?", output[1], re.M)
    return output[0], sum(map(int, ran)) - sum(map(int, skipped)), {}


def run_lit(command):
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "lit.json")
        status = subprocess.call(command + ["--output", result])
        if not os.path.exists(result):
            return status or 1, 0, {}
        with open(result) as handle:
            tests = json.load(handle)["tests"]
    counted = ("PASS", "XFAIL", "FAIL", "XPASS", "FLAKYPASS", "TIMEOUT")

    def counts(test):
        # A test that says `UNSUPPORTED: sanitized` is left away by its own word, and lit names it.
        left_away = test["code"] == "UNSUPPORTED" and "and/or targets: sanitized" in test["output"]
        return test["code"] in counted or left_away

    left_out = {}
    for test in tests:
        for feature, reason in FEATURES.items():
            if test["code"] == "UNSUPPORTED" and f"unavailable features: {feature}" in test["output"]:
                left_out[reason] = left_out.get(reason, 0) + 1
    return status, sum(map(counts, tests)), left_out


def run_script(command):
    """A script ends with the line `ran N tests`."""
    status, output = stream(command)
    counts = re.findall(r"^ran (\d+) tests$", output, re.M)
    return status, int(counts[-1]) if counts else 0, dict(re.findall(r"^(SKIPPED): (.*)$", output, re.M))


def stream(command):
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    lines = []
    for line in process.stdout:
        sys.stdout.write(line)
        lines.append(line)
    return process.wait(), "".join(lines)


def runs_avx512():
    with open("/proc/cpuinfo") as handle:
        flags = re.search(r"^flags\s*: (.*)", handle.read(), re.M)
    return {f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl")} <= set(flags[1].split() if flags else [])


def least_of(entry, name):
    """How many tests must run on this CPU: {"tests": N, "on x86-64-v4": M} are N, M of which it may lack."""
    if isinstance(entry, int):
        return entry
    if runs_avx512():
        return entry["tests"]
    missing = entry["on x86-64-v4"]
    print(f"{name}: {missing} of {entry['tests']} tests are not run: this CPU does not run x86-64-v4")
    return entry["tests"] - missing


# A suite that needs what this place does not have ends with this status and says what it is; ctest
# then reports it as skipped (SKIP_RETURN_CODE). Only tests that are registered so may.
SKIPPED = places.SKIPPED


def cache_for(arguments):
    """No test depends on what the user compiled before. Quick suites compile many functions that another one, or
    they themselves, compiled already: these are kept beside the counts, and scripts/test begins without any. Long
    tests compile everything, since what they let fail would else not be called. Unit tests call no tools."""
    if arguments.name.startswith("Long/") or arguments.kind == "gtest":
        return ""
    return os.path.join(os.path.dirname(os.path.abspath(arguments.counts)), "Cache")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=["gtest", "lit", "script"], required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--fixtures", required=True, help="folder that CMake unpacked them into")
    parser.add_argument("--counts", required=True, help="folder that receives what ran")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = arguments.command[arguments.command[:1] == ["--"]:]

    here = os.path.dirname(os.path.abspath(__file__))
    os.environ["MPC_FIXTURES"] = arguments.fixtures
    os.environ["MPC_CACHE"] = cache_for(arguments)
    with open(os.path.join(here, "counts.json")) as handle:
        minimum = least_of(json.load(handle).get(arguments.name, 1), arguments.name)

    runner = {"gtest": run_gtest, "lit": run_lit, "script": run_script}[arguments.kind]
    start = time.monotonic()
    status, ran, left_out = runner(command)
    if status == SKIPPED:
        print(f"{arguments.name}: skipped; its output says why")
        left_out = {left_out.get("SKIPPED", "what a suite needs is missing"): minimum}
    else:
        print(f"{arguments.name}: {ran} tests ran, at least {minimum} expected")
        left_out.pop("SKIPPED", None)
    for reason, count in left_out.items():
        print(f"{arguments.name}: {count} tests were left out: {reason}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    os.makedirs(arguments.counts, exist_ok=True)
    record = os.path.join(arguments.counts, arguments.name.replace("/", "-") + ".json")
    with open(record, "w") as handle:
        json.dump({"suite": arguments.name, "ran": ran, "status": status, "left_out": left_out,
                   "seconds": round(time.monotonic() - start, 2),
                   "cpu_seconds": round(used.ru_utime + used.ru_stime, 2)}, handle)  # fmt: skip
    if status == SKIPPED:
        return SKIPPED
    if ran + sum(left_out.values()) < minimum:
        print(f"error: {arguments.name}: only {ran} tests ran; test/counts.json expects {minimum}")
        return 1
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
