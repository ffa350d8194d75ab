#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the products of a training step do beside multiplying: relu and its derivative by bits, on
libraries that have them, that lack them, and that mean something else by them. The model is the
guide's, with 256 units."""

import os
import re
import sys
import unittest

import numpy as np

from software_device import ROOT, FolderTest, lines_of, run
from tensor_files import read_safetensors

MODEL = os.path.join(ROOT, "examples", "mnist_mlp", "model_256.keras")
KEEPS = {"MPC_FAKE_CUBLASLT_RELU_KEEPS_NAN": "1"}
# cublasLtEpilogue_t: relu and bias; both, and bits; derivative of relu.
RELU, RELU_BITS, DERIVATIVE = "6", "134", "136"
BIAS_GRADIENT = "256"


class Epilogues(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = {}
        random = np.random.default_rng(1)
        np.savez(cls.path("data.npz"), digits=random.random((64, 784), np.float32),
                 y0=random.integers(0, 10, 64).astype(np.int32))  # fmt: skip

    def run_tool(self, *command, **settings):
        result = run(*command, **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def compiled(self, policy, *options):
        key = "-".join((policy, *options)).replace("=", "-")
        if key not in self.models:
            self.models[key] = self.path(key)
            self.run_tool("mpcc", MODEL, "-q", f"--policy={policy}", "--name=mlp", *options, "-o", self.models[key], fake=False)
        return self.models[key]

    def train(self, model, device="cuda:0", **settings):
        """What the second step recorded, the saved bytes, and the arrays."""
        log, saved = self.path("log"), self.path("saved.safetensors")
        if os.path.exists(log):
            os.remove(log)
        self.run_tool("mpc-run", "train", model, "--data", self.path("data.npz"), "--shuffle=off", "--batch-size", "16",
                      "--epochs", "1", "--steps", "4", "--device", device, "--save", saved,
                      fake=device != "cpu", MPC_FAKE_CUDA_LOG=log, **settings)  # fmt: skip
        with open(saved, "rb") as handle:
            content = handle.read()
        return [line for line in lines_of(log) if line.startswith("record ")], content, read_safetensors(saved)

    def step(self, policy, **settings):
        """Epilogues of the products, kernels that do what these do not, launches, saved bytes."""
        launches, saved, _ = self.train(self.compiled(policy, "--target=cuda:source"), **settings)
        epilogues = sorted(re.findall(r"epilogue (\d+)", "\n".join(launches)))
        kernels = sorted(re.findall(r"launch mpc_(relu_mask|relu|where)_", "\n".join(launches)))
        return epilogues, kernels, len(launches), saved

    def check(self, policy):
        variants = {
            "all": (KEEPS, ["1"] * 3 + [RELU_BITS, DERIVATIVE, "4", RELU], [], 15),
            # relu loses NaN: it and its bits are one kernel.
            "nan": ({}, ["1"] * 3 + [DERIVATIVE, "4", "4", "4"], ["relu", "relu_mask"], 17),
            # Bits of what is 0 are set, too.
            "zero": ({**KEEPS, "MPC_FAKE_CUBLASLT_BITS": "at zero"},
                     ["1"] * 3 + [DERIVATIVE, "4", RELU, RELU], ["relu_mask"], 16),
            # Elements that the bits take away are multiplied by 0: NaN stays.
            "times": ({**KEEPS, "MPC_FAKE_CUBLASLT_BITS": "multiplied"},
                      ["1"] * 4 + [RELU_BITS, "4", RELU], ["where"], 16),
            # The library has no bits.
            "none": ({**KEEPS, "MPC_FAKE_CUBLASLT_BITS": "none"},
                     ["1"] * 4 + ["4", RELU, RELU], ["relu_mask", "where"], 17),
        }  # fmt: skip
        weights = {}
        for name, (settings, wanted, kernels, most) in variants.items():
            epilogues, others, launches, weights[name] = self.step(policy, **settings)
            self.assertEqual(epilogues, sorted(wanted), name)
            self.assertEqual(others, kernels, name)
            # The step of the guide's model takes at most this many launches.
            self.assertLessEqual(launches, most, name)
            self.assertEqual(weights[name], weights["all"], name)

    def test_float16(self):
        self.check("mixed_float16")

    def test_derivative_slower_than_a_kernel(self):
        """What is clearly slower in the product than behind it is not left there; the weights are the same."""
        slow = {**KEEPS, "MPC_FAKE_CUBLASLT_SLOW": DERIVATIVE}
        saved = {}
        for name, settings, isThere in (
            ("fast", {**KEEPS, "MPC_CUDA_TRIALS": "all", "MPC_FAKE_CUBLASLT_SLOW": "0"}, True),
            ("slow", {**slow, "MPC_CUDA_TRIALS": "all"}, False),
            ("small", slow, True),
            ("off", {**slow, "MPC_CUDA_TRIALS": "off"}, True),
        ):  # fmt: skip
            epilogues, kernels, _, saved[name] = self.step("mixed_bfloat16", **settings)
            if name != "fast":  # which depends on the machine
                self.assertEqual(DERIVATIVE in epilogues, isThere, name)
                self.assertEqual("where" in kernels, not isThere, name)
            self.assertEqual(saved[name], saved["off"] if "off" in saved else saved[name], name)
        self.assertEqual(len(set(saved.values())), 1)

    def test_bfloat16(self):
        self.check("mixed_bfloat16")

    def test_float32(self):
        self.check("float32")

    def check_bias_gradients(self, policy, tolerance):
        """Sums of cotangents by cuBLASLt, and by kernels where it has none or others than these."""
        options = ("--target=cuda:source", "--custom-loop=off")
        launches, _, plain = self.train(self.compiled(policy, *options), **KEEPS)
        self.assertNotIn("epilogue " + BIAS_GRADIENT, "\n".join(launches))
        model = self.compiled(policy, *options, "--bias-gradients=products")
        by_kernels = None
        for played in ("", "none", "narrow", "reversed", "finite"):
            settings = {**KEEPS, "MPC_FAKE_CUBLASLT_BGRAD": played}
            step, saved, weights = self.train(model, **settings)
            text = "\n".join(step)
            sums = 0 if played else 3
            self.assertEqual(len(re.findall(f"epilogue {BIAS_GRADIENT}", text)), sums, played)
            self.assertEqual(len(re.findall("launch mpc_column_sums_", text)), 3 - sums, played)
            # No launch less than without the option, and one more for each product without sums.
            self.assertEqual(len(step), len(launches) + 3 - sums, played)
            self.assertEqual(self.train(model, **settings)[1], saved, played)
            for name, wanted in plain.items():
                np.testing.assert_allclose(weights[name], wanted, rtol=0, atol=tolerance, err_msg=f"{played} {name}")
            if played:
                by_kernels = by_kernels or saved
                self.assertEqual(saved, by_kernels, played)

    def test_bias_gradients_float16(self):
        self.check_bias_gradients("mixed_float16", 1e-6)

    def test_bias_gradients_bfloat16(self):
        self.check_bias_gradients("mixed_bfloat16", 1e-6)

    def test_bias_gradients_float32(self):
        self.check_bias_gradients("float32", 1e-6)

    def test_bias_gradients_are_named(self):
        model = self.compiled("mixed_bfloat16", "--target=cuda:source", "--custom-loop=off", "--bias-gradients=products")
        for played, count in (("", 3), ("none", 0)):
            result = run("mpc-run", "bench", model, "--train", "--batch-size", "16", "--steps", "1", "--warmup", "1", "--kernels",
                         "--device", "cuda:0", MPC_FAKE_CUBLASLT_BGRAD=played)  # fmt: skip
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual((result.stdout + result.stderr).count("cublaslt:bias_gradient"), count)

    def test_weights_are_those_of_the_cpu(self):
        # Plain steps downhill: an error of a gradient is one of the weights.
        options = ("--optimizer=sgd", "--learning-rate=0.1")
        on_cpu = self.train(self.compiled("float32", *options), "cpu")[2]
        library = self.compiled("float32", *options, "--target=cuda:source")
        for device, settings in (("cuda:0", KEEPS), ("cuda:0", {}), ("cpu", {})):
            arrays = self.train(library, device, **settings)[2]
            self.assertEqual(arrays.keys(), on_cpu.keys())
            moved = 0.0
            for name, wanted in on_cpu.items():
                np.testing.assert_allclose(arrays[name], wanted, rtol=0, atol=2e-6, err_msg=f"{device} {name}")
                moved = max(moved, float(np.abs(wanted).max()))
            self.assertGreater(moved, 0.01)


if __name__ == "__main__":
    program = unittest.main(exit=False, argv=sys.argv[:1])
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
