#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpcc --fp32-precision=tf32x3 in training, beside float32 and TF32: what is recorded, what it says, how far the weights
are from those of float32. The model is the guide's, with 256 units; runtime/cts/contract_digits_test.cpp has the
products themselves."""

import os
import re
import sys
import unittest

import numpy as np

from software_device import FIXTURES, ROOT, FolderTest, lines_of, run
from tensor_files import read_safetensors

MODEL = os.path.join(ROOT, "examples", "mnist_mlp", "model_256.keras")
CNN = os.path.join(FIXTURES, "keras", "train", "cnn__float32", "model.keras")
KEEPS = {"MPC_FAKE_CUBLASLT_RELU_KEEPS_NAN": "1", "MPC_FAKE_CUBLASLT_SUMS": "device"}
ALL = {**KEEPS, "MPC_CUDA_TF32X3": "all"}


class Tf32x3(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = {}
        random = np.random.default_rng(1)
        np.savez(cls.path("data.npz"), digits=random.random((64, 784), np.float32),
                 y0=random.integers(0, 10, 64).astype(np.int32))  # fmt: skip

    def compiled(self, precision, *options):
        key = "-".join((precision, *options)).replace("=", "-")
        if key not in self.models:
            self.models[key] = self.path(key)
            self.tool("mpcc", MODEL, "-q", "--policy=float32", "--name=mlp", "--target=cuda:source", "--optimizer=sgd",
                      "--learning-rate=0.1", f"--fp32-precision={precision}", *options, "-o", self.models[key],
                      fake=False)  # fmt: skip
        return self.models[key]

    def tool(self, *command, **settings):
        result = run(*command, **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout + result.stderr

    def train(self, model, **settings):
        """What the second step recorded, the saved bytes, and the arrays."""
        log, saved = self.path("log"), self.path("saved.safetensors")
        if os.path.exists(log):
            os.remove(log)
        self.tool("mpc-run", "train", model, "--data", self.path("data.npz"), "--shuffle=off", "--batch-size", "16", "--epochs",
                  "1", "--steps", "4", "--device", "cuda:0", "--save", saved, MPC_FAKE_CUDA_LOG=log, **settings)  # fmt: skip
        with open(saved, "rb") as handle:
            content = handle.read()
        return [line for line in lines_of(log) if line.startswith("record ")], content, read_safetensors(saved)

    def kernels(self, model, **settings):
        return self.tool("mpc-run", "bench", model, "--train", "--batch-size", "16", "--steps", "1", "--warmup", "1",
                         "--kernels", "--device", "cuda:0", **settings)  # fmt: skip

    def test_products_are_of_split_operands(self):
        plain, _, _ = self.train(self.compiled("ieee"), **ALL)
        steps, saved, _ = self.train(self.compiled("tf32x3"), **ALL)
        products = [line for line in steps if "multiply" in line]
        self.assertTrue(products)
        for line in products:
            self.assertIn(" compute 77 ", line)
        # 784 terms in parts of 96, three products each; the last part has bias and relu, and none of the others anything.
        first = [re.search(r"x(\d+) type 0 .* epilogue (\d+)", line).groups() for line in products[:9]]
        self.assertEqual(first, [("288", "1")] * 8 + [("48", "134")], products)
        # A split in front of each of them, and nothing else more than in float32.
        splits = sum("launch mpc_split_operands" in line for line in steps)
        self.assertEqual(splits, len(products))
        self.assertEqual(len(steps) - splits - len(products), sum("multiply" not in line for line in plain))
        self.assertEqual(self.train(self.compiled("tf32x3"), **ALL)[1], saved)

    def test_weights_are_those_of_float32(self):
        weights = {name: self.train(self.compiled(name), **ALL)[2] for name in ("ieee", "tf32", "tf32x3")}

        def distance(name):
            return max(float(np.abs(weights[name][key] - array).max()) for key, array in weights["ieee"].items())

        self.assertLess(distance("tf32x3"), 1e-6)
        self.assertGreater(distance("tf32"), 20 * distance("tf32x3"))

    def test_epilogues_are_those_of_one_product(self):
        """The bits of relu, and where the library has none of it; all give the same weights."""
        saved = {}
        for name, settings in {
            "all": {}, "nan": {"MPC_FAKE_CUBLASLT_RELU_KEEPS_NAN": ""}, "zero": {"MPC_FAKE_CUBLASLT_BITS": "at zero"},
            "none": {"MPC_FAKE_CUBLASLT_BITS": "none"},
        }.items():  # fmt: skip
            saved[name] = self.train(self.compiled("tf32x3"), **{**ALL, **settings})[1]
            self.assertEqual(saved[name], saved["all"], name)

    def test_small_products_are_those_of_float32(self):
        small, by_three = self.kernels(self.compiled("tf32x3"), **KEEPS), self.kernels(self.compiled("tf32x3"), **ALL)
        self.assertNotIn("tf32x3", small)
        self.assertRegex(by_three, r"cublaslt:tf32x3\n")
        same = [self.train(self.compiled(name), **KEEPS)[1] for name in ("ieee", "tf32x3")]
        self.assertEqual(same[0], same[1])

    def test_sums_of_columns_are_of_whole_numbers(self):
        """An epilogue would add up the parts of what was split: a kernel adds up the operand itself."""
        step, _, weights = self.train(self.compiled("tf32x3", "--bias-gradients=products", "--custom-loop=off"), **ALL)
        self.assertFalse([line for line in step if "epilogue 256" in line])
        self.assertTrue([line for line in step if "mpc_column_sums_" in line])
        for name, wanted in self.train(self.compiled("ieee"), **ALL)[2].items():
            np.testing.assert_allclose(weights[name], wanted, rtol=0, atol=1e-6, err_msg=name)

    def test_explain_says_what_convolutions_do(self):
        def explained(*options):
            return self.tool("mpcc", CNN, "--target=cuda:source", "--name=cnn", "--explain", *options, "-o", self.path("explained"),
                             fake=False)  # fmt: skip

        text = explained("--fp32-precision=tf32x3")
        self.assertRegex(text, r"convolutions of float32 .*stay in float32 where cuDNN computes them")
        self.assertNotIn("cuDNN", explained("--fp32-precision=tf32"))

    def test_the_kernel_is_there_where_it_is_asked_for(self):
        for precision, isThere in (("ieee", False), ("tf32", False), ("tf32x3", True)):
            text = self.tool("mpcc", MODEL, "--policy=float32", "--target=cuda:source", "--emit=cuda", f"--fp32-precision={precision}",
                             fake=False)  # fmt: skip
            self.assertEqual("mpc_split_operands" in text, isThere, precision)


if __name__ == "__main__":
    program = unittest.main(exit=False, argv=sys.argv[:1])
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
