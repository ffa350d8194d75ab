#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Algorithms of cuBLASLt that --tune measures: which one is taken, where the choice is kept, and what
is said of one that the library no longer takes. The model is the guide's, with 256 units."""

import json
import os
import re
import sys
import unittest

import numpy as np

from software_device import ROOT, FolderTest, lines_of, run

MODEL = os.path.join(ROOT, "examples", "mnist_mlp", "model_256.keras")
# The third is the fastest of those that may be taken: the fourth adds up in the result, the fifth gives
# other bytes in each run.
PLAYED = "45,30,0,0inplace,0atomic"
TAKEN = {"MPC_FAKE_CUBLASLT_ALGORITHMS": PLAYED}


class Tuning(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(1)
        np.savez(cls.path("data.npz"), digits=random.random((64, 784), np.float32),
                 y0=random.integers(0, 10, 64).astype(np.int32))  # fmt: skip
        cls.model = cls.path("mlp")
        result = run("mpcc", MODEL, "-q", "--policy=mixed_bfloat16", "--name=mlp", "--target=cuda:source", "-o", cls.model, fake=False)
        assert result.returncode == 0, result.stderr

    def train(self, *options, code=0, epochs="1", **settings):
        """What the last step recorded, and what was said."""
        log = self.path("log")
        if os.path.exists(log):
            os.remove(log)
        result = run("mpc-run", "train", self.model, "--data", self.path("data.npz"), "--shuffle=off", "--batch-size", "16",
                     "--epochs", epochs, "--device", "cuda:0", *options, MPC_FAKE_CUDA_LOG=log, **settings)  # fmt: skip
        self.assertEqual(result.returncode, code, result.stderr)
        recorded = [line for line in lines_of(log) if line.startswith("record multiply")]
        return recorded, result.stdout + result.stderr

    def algorithms(self, recorded):
        return {int((re.findall(r" algorithm (\d+)", line) or ["1"])[0]) for line in recorded}

    def test_fastest_is_taken(self):
        recorded, said = self.train("--tune", **TAKEN)
        self.assertEqual(self.algorithms(recorded), {3}, recorded)
        self.assertRegex(said, r"--tune: of the products, algorithm_3 for \d+\n")

    def test_first_is_taken_without_tune(self):
        recorded, said = self.train(**TAKEN)
        self.assertEqual(self.algorithms(recorded), {1}, recorded)
        self.assertNotIn("algorithm", said)

    def test_first_is_taken_where_others_are_slower(self):
        recorded, _ = self.train("--tune", MPC_FAKE_CUBLASLT_ALGORITHMS="0,30,30")
        self.assertEqual(self.algorithms(recorded), {1}, recorded)

    def test_library_with_one_algorithm(self):
        recorded, said = self.train("--tune")
        self.assertEqual(self.algorithms(recorded), {1}, recorded)
        self.assertIn("--tune: no product here has kernels to choose from", said)

    def test_file_is_kept_and_taken(self):
        path = self.path("tuning.json")
        result = run("mpc-run", "tune", self.model, "--device", "cuda:0", "--batch-size", "16", "--out", path, **TAKEN)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(path) as handle:
            kernels = json.load(handle)["kernels"]
        self.assertTrue(kernels)
        for line in kernels:
            self.assertRegex(line, r"^cublaslt cublaslt-13.1.0-sm_90\S+ [-\d,]+ algorithm_3/[0-9a-f]{128}/[0-9a-f]{16}$")
        # Nothing is measured with the file, and nothing asked: what is slow then does not matter.
        log = self.path("log")
        recorded, _ = self.train("--tune=" + path, MPC_FAKE_CUBLASLT_ALGORITHMS="0,0,0")
        self.assertEqual(self.algorithms(recorded), {3}, recorded)
        self.assertNotIn("heuristic", lines_of(log))
        self.check_refusals(path, kernels)

    def check_refusals(self, path, kernels):
        said = self.train("--tune=" + path, code=1, MPC_FAKE_CUBLASLT_ALGORITHMS="0,0,0refused")[1]
        self.assertIn("cuBLASLt does not take the algorithm that was measured for the product", said)
        said = self.train("--tune=" + path, code=1, MPC_FAKE_CUBLASLT_ALGORITHMS="0,0,0", MPC_FAKE_CUBLASLT_PATCH="7")[1]
        self.assertIn("they are of cublaslt-13.1.0-sm_90", said)
        self.assertIn("and here is cublaslt-13.1.7-sm_90", said)
        damaged = self.path("damaged.json")
        with open(path) as handle:
            text = handle.read()
        for wrong in (kernels[0].replace("algorithm_3", "algorithm_2"), kernels[0][:-1], kernels[0] + " more"):
            with open(damaged, "w") as handle:
                handle.write(text.replace(kernels[0], wrong))
            said = self.train("--tune=" + damaged, code=1, **TAKEN)[1]
            self.assertIn("choices of kernels: expected lines of cublaslt LIBRARY PRODUCT", said, wrong)
        with open(damaged, "w") as handle:
            handle.write(text.replace(kernels[0], "1 16 kept avx2_float32"))
        self.assertIn("cpu_kind: is missing", self.train("--tune=" + damaged, code=1, **TAKEN)[1])

    def test_checkpoint_keeps_the_choice(self):
        folder = self.path("checkpoints")
        self.train("--tune", "--checkpoint", folder, epochs="1", **TAKEN)
        recorded, _ = self.train("--checkpoint", folder, "--resume", folder, epochs="2", MPC_FAKE_CUBLASLT_ALGORITHMS="0,0,0")
        self.assertEqual(self.algorithms(recorded), {3}, recorded)

    def test_products_that_add(self):
        """A trial adds nothing to gradients: with and without one, equal algorithms give equal weights."""
        saved = []
        for options, settings in (("--tune",), {"MPC_FAKE_CUBLASLT_ALGORITHMS": "0,30"}), ((), {}):
            path = self.path(f"w{len(saved)}.safetensors")
            self.train("--save", path, *options, **settings)
            with open(path, "rb") as handle:
                saved.append(handle.read())
        self.assertEqual(saved[0], saved[1])


if __name__ == "__main__":
    program = unittest.main(exit=False, argv=sys.argv[:1])
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
