#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gradient through a layer of ten units, a product of ten terms: a kernel, whose threads take several
rows where there are many. Its numbers are those of NumPy, and its bytes the same in every run."""

import json
import os
import re
import sys
import unittest

import numpy as np

from software_device import FolderTest, lines_of, run
from tensor_files import read_safetensors

# More rows than fill a GPU by one row per thread, and no multiple of the rows of a thread.
ROWS, INPUTS, UNITS, CLASSES, RATE = 1101, 24, 4096, 10, 0.01


def layer(class_name, name, source, module="keras.layers", **config):
    inbound = [{"args": [{"class_name": "__keras_tensor__", "config": {
        "shape": source[1], "dtype": "float32", "keras_history": [source[0], 0, 0]}}], "kwargs": {}}]  # fmt: skip
    return {"module": module, "class_name": class_name, "registered_name": None, "name": name,
            "config": dict(config, name=name, dtype="float32"), "build_config": {"input_shape": source[1]}, "inbound_nodes": inbound}  # fmt: skip


def model():
    start = {"module": "keras.layers", "class_name": "InputLayer", "registered_name": None, "name": "x", "inbound_nodes": [],
             "config": {"batch_shape": [None, INPUTS], "dtype": "float32", "sparse": False, "ragged": False, "name": "x", "optional": False}}  # fmt: skip
    dense = {"use_bias": True, "trainable": True, "kernel_regularizer": None, "bias_regularizer": None, "kernel_constraint": None,
             "bias_constraint": None, "quantization_config": None}  # fmt: skip
    layers = [
        start,
        layer("Dense", "wide", ("x", [None, INPUTS]), units=UNITS, activation="relu", **dense),
        layer("Dense", "last", ("wide", [None, UNITS]), units=CLASSES, activation="linear", **dense),
        layer("Activation", "y", ("last", [None, CLASSES]), activation="softmax", trainable=True),
    ]
    return {"module": "keras.src.models.functional", "class_name": "Functional", "registered_name": "Functional",
            "config": {"name": "m", "trainable": True, "layers": layers, "input_layers": [["x", 0, 0]],
                       "output_layers": [["y", 0, 0]]}}  # fmt: skip


class ShortProducts(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(1)
        cls.x = random.random((ROWS, INPUTS), np.float32) - np.float32(0.5)
        cls.targets = random.integers(0, CLASSES, ROWS).astype(np.int32)
        np.savez(cls.path("data.npz"), x=cls.x, y0=cls.targets)
        with open(cls.path("m.json"), "w") as handle:
            json.dump(model(), handle)

    def gradients(self, policy, device):
        """Those of a step, by their names; what was launched."""
        folder, out, log = self.path(policy), self.path(f"{policy}-{device}.npz"), self.path("log")
        if not os.path.exists(folder):
            result = run("mpcc", self.path("m.json"), "-q", "--initialize=3", f"--policy={policy}", "--name=m", "--optimizer=sgd", f"--learning-rate={RATE}",
                         "--loss=sparse_categorical_crossentropy", "--loss-scale=none", "--target=cuda:source", "-o", folder, fake=False)  # fmt: skip
            self.assertEqual(result.returncode, 0, result.stderr)
        if os.path.exists(log):
            os.remove(log)
        result = run("mpc-run", "gradients", folder, "--data", self.path("data.npz"), "--outputs", out, "--device", device,
                     fake=device != "cpu", MPC_FAKE_CUDA_LOG=log)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        with np.load(out) as arrays:
            return {name: arrays[name] for name in arrays.files}, lines_of(log)

    def weights(self, found):
        """Those from which a step of float32 has these gradients, in float64, by layer and name."""
        saved = self.path("after.safetensors")
        result = run("mpc-run", "train", self.path("float32"), "--data", self.path("data.npz"), "--shuffle=off", "--batch-size", str(ROWS),
                     "--steps", "1", "--device", "cpu", "--save", saved, fake=False)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        after, before = read_safetensors(saved), {}
        for name in ("wide/kernel", "wide/bias", "last/kernel", "last/bias"):
            path = next(path for path in after if path.endswith(name))
            before[name] = after[path].astype(np.float64) + RATE * found[f"grad:{path}"].astype(np.float64)
        return before

    def test_float32_is_numpy(self):
        found, log = self.gradients("float32", "cuda:0")
        weights = self.weights(found)
        wide = self.x @ weights["wide/kernel"] + weights["wide/bias"]
        hidden = np.maximum(wide, 0)
        logits = hidden @ weights["last/kernel"] + weights["last/bias"]
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        chances[np.arange(ROWS), self.targets] -= 1
        back = (chances / ROWS) @ weights["last/kernel"].T * (wide > 0)
        for name, wanted in (("wide/kernel", self.x.T @ back), ("wide/bias", back.sum(axis=0)), ("last/kernel", hidden.T @ (chances / ROWS))):
            array = next(value for key, value in found.items() if key.startswith("grad:") and key.endswith(name))
            np.testing.assert_allclose(array, wanted, rtol=0, atol=2e-6 * np.abs(wanted).max() + 1e-9, err_msg=name)
        self.check_kernel(log)

    def check_kernel(self, log):
        """No product of ten terms is left to the library."""
        products = [line for line in log if "multiply" in line]
        self.assertTrue(products, log)
        self.assertFalse([line for line in products if re.search(rf"x{UNITS}x(10|16) ", line)], log)

    def check_16_bits(self, policy, spacing, smallest=0.0):
        """`spacing`: from a number of the format to the next one, of the number, at most."""
        found, log = self.gradients(policy, "cuda:0")
        again, _ = self.gradients(policy, "cuda:0")
        on_cpu, _ = self.gradients(policy, "cpu")
        for name, array in found.items():
            self.assertEqual(array.tobytes(), again[name].tobytes(), name)
            wanted = on_cpu[name].astype(np.float64)
            # Both round each cotangent once; sums of them have other orders, by the vectors of the
            # CPU, so that one may be rounded to the number beside the other's.
            atol = max(spacing * np.abs(wanted).max() / 16, smallest)
            np.testing.assert_allclose(array.astype(np.float64), wanted, rtol=spacing, atol=atol, err_msg=name)
        self.check_kernel(log)

    def test_bfloat16(self):
        self.check_16_bits("mixed_bfloat16", 2.0**-7)

    def test_float16(self):
        self.check_16_bits("mixed_float16", 2.0**-10, smallest=2.0**-24)


if __name__ == "__main__":
    program = unittest.main(exit=False, argv=sys.argv[:1])
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
