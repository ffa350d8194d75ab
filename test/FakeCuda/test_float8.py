#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""float8 on the software device: as float8 where the GPU multiplies it, as float16 where it or the
library does not, with the same bytes; and every number rounded as Keras's cast rounds it."""

import json
import os
import re
import sys
import unittest

import numpy as np

from software_device import ROOT, FolderTest, lines_of, run
from tensor_files import read_safetensors

MODEL = os.path.join(ROOT, "examples", "mnist_mlp", "model_256.keras")
# cudaDataType_t as the device logs it: e4m3, e5m2, float16.
E4M3, E5M2, FLOAT16 = "28", "29", "2"
WITHOUT = {"MPC_FAKE_CUDA_CAPABILITY": "80"}


def numbers_of(fraction, smallest, largest):
    """The positive numbers of a format: `smallest` is the exponent of its least normal one."""
    step = 2.0 ** (smallest - fraction)
    numbers = [step * i for i in range(2**fraction)]
    exponent = smallest
    while numbers[-1] < largest:
        numbers += [2.0**exponent * (1 + i / 2**fraction) for i in range(2**fraction)]
        exponent += 1
    return np.array([number for number in numbers if number <= largest])


def around(numbers):
    """All of them, the midpoints between neighbours, what is next to either, of both signs; multiples of 256."""
    middles = (numbers[1:] + numbers[:-1]) / 2
    exact = np.concatenate([numbers, middles, [numbers[-1] * 1.5, 1e30]]).astype(np.float32)
    all_ = np.concatenate([exact, np.nextafter(exact, np.float32(0)), np.nextafter(exact, np.float32(np.inf))])
    all_ = np.concatenate([all_, -all_])
    return np.concatenate([all_, np.zeros(-len(all_) % 256, np.float32)]).astype(np.float32)


def rounded(values, numbers):
    """To the nearest of `numbers`, of two the one with an even place; clipped."""
    magnitude = np.minimum(np.abs(values.astype(np.float64)), numbers[-1])
    above = np.minimum(np.searchsorted(numbers, magnitude), len(numbers) - 1)
    below = np.maximum(above - 1, 0)
    up, down = numbers[above] - magnitude, magnitude - numbers[below]
    takes_below = (down < up) | ((down == up) & (below % 2 == 0))
    return np.copysign(np.where(takes_below, numbers[below], numbers[above]), values)


def dense(initializer):
    """A layer of 16 units without bias, as Keras writes it."""

    def registered(class_name, config, module="keras.initializers"):
        return {"module": module, "class_name": class_name, "config": config, "registered_name": None}

    policy = registered("DTypePolicy", {"name": "float32"}, "keras")
    layers = [
        dict(registered("InputLayer", {"batch_shape": [None, 16], "dtype": "float32", "sparse": False, "ragged": False,
                                       "name": "x", "optional": False}, "keras.layers"), name="x", inbound_nodes=[]),
        dict(registered("Dense", {
            "name": "d", "trainable": True, "dtype": policy, "units": 16, "activation": "linear", "use_bias": False,
            "kernel_initializer": initializer, "bias_initializer": registered("Zeros", {}), "kernel_regularizer": None,
            "bias_regularizer": None, "kernel_constraint": None, "bias_constraint": None, "quantization_config": None},
            "keras.layers"), name="d", build_config={"input_shape": [None, 16]},
            inbound_nodes=[{"args": [{"class_name": "__keras_tensor__", "config": {
                "shape": [None, 16], "dtype": "float32", "keras_history": ["x", 0, 0]}}], "kwargs": {}}]),
    ]  # fmt: skip
    return {"module": "keras.src.models.functional", "class_name": "Functional", "registered_name": "Functional",
            "config": {"name": "m", "trainable": True, "layers": layers, "input_layers": [["x", 0, 0]],
                       "output_layers": [["d", 0, 0]]}}  # fmt: skip


def waits_of(launches):
    """How often the whole grid waits in a step."""
    return sum(int(found[1]) for found in (re.search(r", waits (\d+)$", line) for line in launches) if found)


class Float8(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(1)
        np.savez(cls.path("data.npz"), digits=random.random((72, 784), np.float32),
                 y0=random.integers(0, 10, 72).astype(np.int32))  # fmt: skip
        cls.models = {}

    def run_tool(self, *command, **settings):
        result = run(*command, **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def compiled(self, policy):
        if policy not in self.models:
            self.models[policy] = self.path(policy)
            self.run_tool("mpcc", MODEL, "-q", f"--policy={policy}", "--name=mlp", "--target=cuda:source",
                          "-o", self.models[policy], fake=False)  # fmt: skip
        return self.models[policy]

    def train(self, policy, batch, device="cuda:0", **settings):
        """What the second step recorded, and the saved bytes."""
        log, saved = self.path("log"), self.path("saved.safetensors")
        if os.path.exists(log):
            os.remove(log)
        self.run_tool("mpc-run", "train", self.compiled(policy), "--data", self.path("data.npz"), "--shuffle=off",
                      "--batch-size", str(batch), "--epochs", "1", "--steps", "3", "--device", device, "--save", saved,
                      fake=device != "cpu", MPC_FAKE_CUDA_LOG=log, **settings)  # fmt: skip
        with open(saved, "rb") as handle:
            return [line for line in lines_of(log) if line.startswith("record ")], handle.read()

    def types(self, launches):
        """Of the products, in their order."""
        return [re.search(r"type (\d+)", line)[1] for line in launches if "multiply" in line]

    def check(self, policy, batch, most, waits):
        launches, saved = self.train(policy, batch)
        types = self.types(launches)
        # Three forward, three gradients of kernels, one cotangent; the other has sums of ten terms.
        self.assertEqual(len(types), 7, launches)
        self.assertEqual(set(types), {E4M3, E5M2}, launches)
        for line in launches:
            if "multiply" in line:
                self.assertIn("compute 68", line)
                self.assertTrue(all(int(n) % 16 == 0 for n in re.search(r"x(\d+)x(\d+)", line).groups()), line)
        # Casts have written the columns. Rows over samples are padded where no multiple of 16 is, by a launch for each gradient of a kernel.
        copies = [line for line in launches if "mpc_transposed" in line]
        self.assertEqual(len(copies), 3 if batch % 16 else 0, launches)
        self.assertEqual(len(launches), most, launches)
        # Between stages of its kernels; 112 in bfloat16 until 2026-11-30, when each tensor's history waited for those before it.
        self.assertLessEqual(waits_of(launches), waits, launches)
        # All histories and scales move in the last kernel of the step, and nothing else waits for them.
        self.assertLessEqual(waits_of(launches[-1:]), 5, launches)
        for settings in (WITHOUT, {"MPC_FAKE_CUBLASLT_FLOAT8": "none"}):
            others, same = self.train(policy, batch, **settings)
            self.assertEqual(len([line for line in others if "mpc_widened" in line]), 7, others)
            self.assertEqual(len(others), most + 7 - len(copies), others)
            self.assertEqual(set(self.types(others)), {FLOAT16}, others)
            self.assertEqual(len(self.types(others)), len(types))
            self.assertEqual(saved, same, settings)
        return launches, saved

    def test_float32(self):
        self.check("float8_from_float32", 16, 20, 22)

    def test_bfloat16_and_a_batch_that_is_no_multiple(self):
        self.check("float8_from_mixed_bfloat16", 20, 23, 22)

    def test_float16(self):
        self.check("float8_from_mixed_float16", 24, 26, 32)

    def test_loops_of_the_runtime_have_the_same_numbers(self):
        self.train("float8_from_float32", 16)
        on_device = read_safetensors(self.path("saved.safetensors"))
        self.train("float8_from_float32", 16, "cpu")
        on_cpu = read_safetensors(self.path("saved.safetensors"))
        self.assertEqual(on_device.keys(), on_cpu.keys())
        for name, wanted in on_cpu.items():
            np.testing.assert_allclose(on_device[name], wanted, rtol=1e-4, atol=1e-5, err_msg=name)

    def test_largest_magnitudes_are_found_by_the_casts(self):
        """The batch of 784 numbers a sample is wide: its cast finds the largest magnitude, in the same packs and beside them."""
        for batch in (16, 20):  # 16 rows are whole packs for each thread that has any
            launches, _ = self.train("float8_from_float32", batch)
            self.assertEqual(sum("_beside" in line for line in launches), 1, launches)
            history = self.history("float8_from_float32")
            with np.load(self.path("data.npz")) as arrays:
                digits = arrays["digits"]
            wanted = [np.abs(digits[batch * step : batch * (step + 1)]).max() for step in range(3)]
            # Keras rolls the history, then replaces the first element.
            self.assertEqual(history[0], wanted[2])
            self.assertEqual(sorted(history[history != 0]), sorted(set(wanted)))

    def history(self, policy):
        saved = read_safetensors(self.path("saved.safetensors"))
        return next(value for name, value in saved.items() if name.endswith("inputs_amax_history") and "dense_1" in name)

    def test_list_of_products(self):
        def listed(**settings):
            text = self.run_tool("mpc-run", "bench", self.compiled("float8_from_float32"), "--device", "cuda:0",
                                 "--batch-size", "16", "--steps", "1", "--kernels", **settings).stderr  # fmt: skip
            return [line for line in text.splitlines() if "float8" in line]

        # The last cotangent of a training step has sums of ten terms only: those stay a kernel.
        products = listed()
        self.assertEqual(len(products), 7, products)
        formats = [re.search(r"float8_(\w+)xfloat8_(\w+) cublaslt$", line).groups() for line in products]
        self.assertEqual(formats.count(("e4m3fn", "e4m3fn")), 3, products)
        self.assertEqual(formats.count(("e5m2", "e4m3fn")), 1, products)
        self.assertEqual(formats.count(("e4m3fn", "e5m2")), 3, products)
        self.assertEqual(listed(**WITHOUT), [line + ":float16" for line in products])

    def layer(self, initializer, *options):
        model, folder = self.path("layer.json"), self.path("layer")
        with open(model, "w") as handle:
            json.dump(dense({"module": "keras.initializers", "class_name": initializer[0], "config": initializer[1],
                             "registered_name": None}), handle)  # fmt: skip
        self.run_tool("mpcc", model, "--policy=float8_from_float32", "--initialize", "--name=m", "--target=cuda:source",
                      *options, "-o", folder, fake=False)  # fmt: skip
        return folder

    def test_every_number_of_e4m3(self):
        numbers = numbers_of(3, -6, 448.0)
        self.assertEqual(len(numbers), 127)
        values = around(numbers).reshape(-1, 16)
        folder, data, out = self.layer(("Identity", {"gain": 1.0})), self.path("x.npz"), self.path("y.npz")
        np.savez(data, x=values)
        for device, settings in (("cuda:0", {}), ("cuda:0", WITHOUT), ("cpu", {})):
            self.run_tool("mpc-run", "predict", folder, "--inputs", data, "--outputs", out, "--device", device,
                          fake=device != "cpu", **settings)  # fmt: skip
            got = np.load(out)["out0"]
            np.testing.assert_array_equal(got, rounded(values, numbers), err_msg=f"{device} {settings}")

    def test_every_number_of_e5m2(self):
        # With rows of the unit matrix the kernel's gradient is the cotangent: -targets / 128, from
        # a kernel of zeros and the mean of 256 squares.
        numbers = numbers_of(2, -14, 57344.0)
        self.assertEqual(len(numbers), 124)
        folder = self.layer(("Zeros", {}), "--loss=mean_squared_error", "--optimizer=sgd")
        data, out = self.path("x.npz"), self.path("gradients.npz")
        for values in around(numbers).reshape(-1, 16, 16):
            values = np.minimum(np.maximum(values, np.float32(-1e18)), np.float32(1e18))
            np.savez(data, x=np.eye(16, dtype=np.float32), y0=values * np.float32(-128))
            for device, settings in (("cuda:0", {}), ("cuda:0", WITHOUT), ("cpu", {})):
                self.run_tool("mpc-run", "gradients", folder, "--data", data, "--outputs", out, "--device", device,
                              fake=device != "cpu", **settings)  # fmt: skip
                got = np.load(out)["grad:d/kernel"]
                np.testing.assert_array_equal(got, rounded(values, numbers), err_msg=f"{device} {settings}")


if __name__ == "__main__":
    program = unittest.main(exit=False, argv=sys.argv[:1])
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
