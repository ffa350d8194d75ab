# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilations that are timed: the goals, the models that Keras makes for them, and what a run of a tool took."""

import json
import os
import pathlib
import subprocess
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = HERE.parent / "build" / "release" / "bin"
# How architectures without a compile() of their own are compiled for training. Programs say --cache themselves.
TRAINING = ["--loss=mse", "--optimizer=adam", "--initialize"]
GOALS = json.loads((HERE / "compile_goals.json").read_text())


class Failed(Exception):
    """A command ended with an error: what it said."""


class Took(NamedTuple):
    """What a command took: seconds of all processors, by it and what it started; seconds that passed; MiB at its peak."""

    processors: float
    elapsed: float
    peak: float


def time_command(command):
    """What it took, and its errors' text."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    text = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    elapsed = time.perf_counter() - start
    if status:
        raise Failed(f"{' '.join(map(str, command))}: {text.strip()}")
    return Took(usage.ru_utime + usage.ru_stime, elapsed, usage.ru_maxrss / 1024), text


def compile_model(model, folder, cache, *options):
    """What mpcc took, with the folder of its cache or none."""
    return time_command([TOOLS / "mpcc", model, "--name=model", "-q", f"--cache={cache}", "-o", folder, *options])[0]


def run_keras(python, script, *arguments):
    """Runs one of this folder's scripts with Keras on TensorFlow, on the CPU."""
    subprocess.run([python, HERE / script, *map(str, arguments)], check=True, stderr=subprocess.DEVNULL,
                   env={**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""})  # fmt: skip
