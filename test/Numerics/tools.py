# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpcc and mpc-run for the tests of numerics."""

import json
import os
import subprocess


def add_arguments(parser):
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--device", default="cpu", help="cuda:0: models for a GPU, on it")


class Tools:
    def __init__(self, folder, work, device="cpu"):
        self.folder, self.work, self.device = folder, work, device
        os.makedirs(work, exist_ok=True)

    def path(self, *names):
        return os.path.join(self.work, *names)

    @property
    def target(self):
        """For a GPU, the software device's: it compiles the kernels' text itself. Numbers are those of optimised code."""
        return [*(["--march=native"] if self.device == "cpu" else ["--target=cuda:source", "--march=x86-64-v2"]), "-O0"]

    def call(self, name, *words):
        environment = {**os.environ, "OMP_NUM_THREADS": "2"}
        if name == "mpc-run" and self.device != "cpu":
            words = (*words, "--device", self.device)
            environment["MPC_CACHE"] = ""  # no test depends on what another one measured
        command = [os.path.join(self.folder, name), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
        if done.returncode:
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def compile(self, model, name, *options):
        """The folder of the library."""
        out = self.path(name + ".mpc")
        numerics = [] if "--numerics=false" in options else ["--numerics"]
        self.call(
            "mpcc", model, "-o", out, "--name=m", *self.target, *numerics, "--custom-loop=off",
            "--loss=sparse_categorical_crossentropy", *options,
        )  # fmt: skip
        return out

    def train(self, library, data, *options):
        self.call("mpc-run", "train", library, "--data", data, "--shuffle", "off", *options)

    def numerics(self, library, data, *options):
        """What `mpc-run numerics --json` prints."""
        return json.loads(self.call("mpc-run", "numerics", library, "--data", data, "--json", *options))
