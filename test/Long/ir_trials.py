#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives passes IR that they do not expect: each must refuse it with an error, or run, twice with the
same result; none may crash, loop or blame the compiler.

matrix: every registered pass, and each of its options with values that are none, on IR of every phase,
an empty module and declarations. mutants: that IR changed at random, through the pipeline as mpcc
--compile-from goes on, and through single passes. The trials are the same on every run. Models are
fixtures; --quick takes one, and fewer mutants.

Usage: ir_trials.py BUILD matrix|mutants [--quick] [--count N] [--first N] [--findings FOLDER]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import places  # noqa: E402  pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
DENSE = os.path.join(HERE, "..", "Conversion", "MpcrtToLLVM", "whole-step.mlir")
# These models differ in the IR: scans, windows, attention, tables, quantized weights, optimizers'
# rules.
MODELS = [
    "train/cnn__mixed_float16",
    "train/lstm__mixed_bfloat16",
    "train/transformer__mixed_float16",
    "train/autoencoder__float32",
    "train/mlp_metrics__float32",
    "train/mlp_regularised__mixed_float16",
    "train/mlp_sample_weight__mixed_float16",
    "train/opt_ema_overwrite__float32",
    "train/opt_global_clipnorm__mixed_float16",
    "train/opt_grad_accum__float32",
    "train/opt_lamb__float32",
]
NO_VALUES = ["nonsense", "-1", "99999999999999999999"]


def list_passes(tool):
    """The registered passes, and each with every option that takes a value."""
    listed = subprocess.run([tool, "--registry"], stdout=subprocess.PIPE, text=True, check=True).stdout
    names, broken = [], []
    for line in listed.splitlines():
        match = re.match(r"^(\s+)--([a-z0-9-]+)(?:=<[^>]*>)?\s+-", line)
        if match and len(match.group(1)) == 2:
            names.append(match.group(2))
        elif match:
            broken += [f"{names[-1]}{{{match.group(2)}={value}}}" for value in NO_VALUES]
    return names, broken


def write_seeds(build, folder, quick):
    yield DENSE
    if quick:
        return
    fixtures = places.fixtures("keras")
    for model in MODELS:
        name = model.split("/")[-1]
        command = [os.path.join(build, "bin", "mpcc"), os.path.join(fixtures, model, "model.keras")]
        command += ["--compile-to=import", "-o", folder, f"--name={name}"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        yield os.path.join(folder, name + ".mlir")


def run(command):
    """The status, and the last line of what is printed as it comes: how far the trials are, twice a minute."""
    # The parser of options may say what it wants of wrong values.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        line, shown = "", time.monotonic()
        for line in child.stdout:
            if re.match(r"tried \d+ of ", line):
                if time.monotonic() < shown + 30:
                    continue
                shown = time.monotonic()
            print(line, end="", flush=True)
    return child.returncode, line.rstrip("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("what", choices=["matrix", "mutants"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--findings")
    options = parser.parse_args()
    tool = os.path.join(options.build, "test", "bin", "mpc-ir-trials")
    names, broken = list_passes(tool)
    if len(names) < 40 or not broken:
        sys.exit(f"the registry lists {len(names)} passes only")
    with tempfile.TemporaryDirectory() as folder:
        command = [tool, *write_seeds(options.build, folder, options.quick)]
        if options.what == "mutants":
            count = options.count or (600 if options.quick else 20000)
            command += [f"--mutants={count}", f"--first={options.first}"]
            names = [name for name in names if "verify" not in name]
        else:
            names += broken
        command += [f"--passes={name}" for name in names]
        if options.findings:
            os.makedirs(options.findings, exist_ok=True)
            command.append(f"--findings={options.findings}")
        status, result = run(command)
    tried = re.search(r"^tried (\d+), 0 findings$", result)
    if status != 0 or not tried:
        sys.exit(1)
    print(f"ran {tried.group(1)} tests")


if __name__ == "__main__":
    main()
