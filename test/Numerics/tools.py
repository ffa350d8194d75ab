# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpcc and mpc-run for the tests of numerics."""

import json
import os
import subprocess


class Tools:
    def __init__(self, folder, work):
        self.folder, self.work = folder, work
        os.makedirs(work, exist_ok=True)

    def path(self, *names):
        return os.path.join(self.work, *names)

    def call(self, name, *words):
        command = [os.path.join(self.folder, name), *map(str, words)]
        environment = {**os.environ, "OMP_NUM_THREADS": "2"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
        if done.returncode:
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def compile(self, model, name, *options):
        """The folder of the library."""
        out = self.path(name + ".mpc")
        numerics = [] if "--numerics=false" in options else ["--numerics"]
        self.call(
            "mpcc", model, "-o", out, "--name=m", "--march=native", *numerics, "--custom-loop=off",
            "--loss=sparse_categorical_crossentropy", *options,
        )  # fmt: skip
        return out

    def train(self, library, data, *options):
        self.call("mpc-run", "train", library, "--data", data, "--shuffle", "off", *options)

    def numerics(self, library, data, *options):
        """What `mpc-run numerics --json` prints."""
        return json.loads(self.call("mpc-run", "numerics", library, "--data", data, "--json", *options))
