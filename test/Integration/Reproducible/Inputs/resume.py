# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains four epochs at once, and with stops after one, two and three; compares the saved files.

resume.py MPC-RUN FOLDER DATA NAME...   compiled models FOLDER/NAME.mpc
"""

import pathlib
import shutil
import subprocess
import sys


def train(tool, model, data, *options):
    subprocess.run([tool, "train", model, "--data", data, "--batch-size", "8", *options], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip


def main():
    tool, folder, data, *names = sys.argv[1:]
    folder = pathlib.Path(folder)
    for name in names:
        model, whole = folder / f"{name}.mpc", folder / f"{name}-whole.safetensors"
        train(tool, model, data, "--epochs", "4", "--save", whole)
        for stop in (1, 2, 3):
            checkpoint, parts = folder / f"{name}-{stop}", folder / f"{name}-parts.safetensors"
            shutil.rmtree(checkpoint, ignore_errors=True)
            train(tool, model, data, "--epochs", str(stop), "--checkpoint", checkpoint)
            train(tool, model, data, "--epochs", "4", "--resume", checkpoint, "--save", parts)
            if whole.read_bytes() != parts.read_bytes():
                sys.exit(f"{name}: stopped after epoch {stop} and resumed, {parts} differs from {whole}")
        print(f"{name}: 3 resumed runs, same bytes")


if __name__ == "__main__":
    main()
