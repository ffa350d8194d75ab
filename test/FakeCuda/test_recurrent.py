#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of a time step of an LSTM: the product of the state, and one kernel for everything else."""

import json
import os
import re
import sys
import unittest

import numpy as np

from software_device import ROOT, FolderTest, lines_of, run
from tensor_files import read_safetensors

MODEL = os.path.join(ROOT, "benchmarks", "gpu", "lstm.json")
# Enough rows that a kernel of a time step fills the GPU, and runs by itself.
STEPS, ROWS = 3, 512


class Recurrent(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(1)
        np.savez(cls.path("data.npz"), x=random.random((ROWS, STEPS, 32), np.float32),
                 y0=random.integers(0, 10, ROWS).astype(np.int32))  # fmt: skip
        with open(MODEL) as handle:
            text = handle.read().replace("[null,128,32]", f"[null,{STEPS},32]")
        json.loads(text)
        with open(cls.path("lstm.json"), "w") as handle:
            handle.write(text)

    def train(self, policy, device="cuda:0"):
        folder, log, saved = self.path(policy), self.path("log"), self.path("saved.safetensors")
        if not os.path.exists(folder):
            result = run("mpcc", self.path("lstm.json"), "-q", "--initialize=1", f"--policy={policy}", "--name=lstm", "--optimizer=sgd", "--learning-rate=0.1",
                         "--loss=sparse_categorical_crossentropy", "--custom-loop=off", "--target=cuda:source", "-o", folder, fake=False)  # fmt: skip
            self.assertEqual(result.returncode, 0, result.stderr)
        if os.path.exists(log):
            os.remove(log)
        result = run("mpc-run", "train", folder, "--data", self.path("data.npz"), "--shuffle=off", "--batch-size", str(ROWS), "--epochs", "2",
                     "--device", device, "--save", saved, fake=device != "cpu", MPC_FAKE_CUDA_LOG=log)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        return [line for line in lines_of(log) if line.startswith("record ")], read_safetensors(saved)

    def check(self, policy, most, tolerance):
        launches, weights = self.train(policy)
        # The product of all inputs at once comes before the first time step.
        states = [place for place, line in enumerate(launches) if f"multiply {ROWS}x512x128 " in line or f"multiply {ROWS}x128x512 " in line]
        self.assertEqual(len(states), 2 * STEPS, launches)
        self.assertEqual(sum(re.search(r"multiply \d+x512x32 ", line) is not None for line in launches), 1, launches)
        # Between two of them is one kernel: forward four and backward three until 2026-11-30.
        apart = [later - earlier - 1 for earlier, later in zip(states, states[1:])]
        self.assertEqual(apart[: STEPS - 1], [1] * (STEPS - 1), launches)
        self.assertEqual(apart[STEPS:], [1] * (STEPS - 1), launches)
        self.assertLessEqual(len(launches), most, launches)
        _, on_cpu = self.train(policy, "cpu")
        for name, wanted in on_cpu.items():
            np.testing.assert_allclose(weights[name], wanted, rtol=0, atol=tolerance, err_msg=name)

    def test_float32(self):
        self.check("float32", 30, 2e-6)

    def test_bfloat16(self):
        self.check("mixed_bfloat16", 34, 2e-3)


if __name__ == "__main__":
    program = unittest.main(exit=False, argv=sys.argv[:1])
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
