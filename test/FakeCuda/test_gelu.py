#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gelu and its derivative in products on a GPU, on the software device: by cuBLASLt where it does what
mpc's kernels do, else by these. The model is the benchmark's transformer block with gelu in its wide layer;
beside it the same model on the CPU, which rounds after each step of gelu as Keras does."""

import json
import os
import re
import sys
import unittest

import numpy as np

from software_device import ROOT, FolderTest, lines_of, run
from tensor_files import read_safetensors
from test_attention import PLACES, TRANSFORMER, changed

WIDTH = 32
# cublasLtEpilogue_t: gelu and bias; both, and the arguments; derivative.
GELU, KEPT, DERIVATIVE = "36", "164", "192"
KERNELS = ["gelu", "gelu_gradient"]


def with_gelu(model, approximate):
    """The model with gelu as an operation behind its wide layer."""
    layers = model["config"]["layers"]
    wide = next(layer for layer in layers if layer["config"].get("activation") == "relu")
    wide["config"]["activation"] = "linear"
    reader = next(layer for layer in layers if wide["name"] in json.dumps(layer["inbound_nodes"]))
    gelu = {"module": "keras.src.ops.nn", "class_name": "Gelu", "config": {"name": "gelu", "approximate": approximate},
            "registered_name": "Gelu", "name": "gelu", "inbound_nodes": json.loads(json.dumps(reader["inbound_nodes"]))}  # fmt: skip
    reader["inbound_nodes"][0]["args"][0]["config"]["keras_history"][0] = "gelu"
    layers.insert(layers.index(wide) + 1, gelu)
    return model


class Gelu(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = np.random.default_rng(3)
        cls.inputs = random.normal(size=(32, PLACES, WIDTH)).astype(np.float32)
        np.savez(cls.path("data.npz"), x0=cls.inputs, y0=random.integers(0, 10, size=32))
        np.savez(cls.path("inputs.npz"), x0=cls.inputs[:5])

    def compile(self, policy, *options, approximate=True, target="cuda:source"):
        name = f"{policy}_{approximate}_{target}".replace(":", "_")
        path, folder = self.path(name + ".json"), self.path(name)
        with open(TRANSFORMER) as handle:
            model = changed(json.load(handle), None, {128: PLACES, 256: WIDTH, 1024: 64, "num_heads": 2, "key_dim": 16,
                                                      "value_dim": 16})  # fmt: skip
        with open(path, "w") as handle:
            json.dump(with_gelu(model, approximate), handle)
        result = run("mpcc", path, "-q", "--policy=" + policy, "--target=" + target, "--optimizer=sgd",
                     "--learning-rate=0.1", "--loss-scale=none", "--custom-loop=off",
                     "--loss=sparse_categorical_crossentropy", "--name=gelu", "-o", folder, *options, fake=False)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        return folder

    def run_tool(self, *command, device="cuda:0", **settings):
        result = run("mpc-run", *command, "--device", device, **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout + result.stderr

    def train(self, model, device="cuda:0", **settings):
        """What the second step recorded, the weights after four, and their bytes."""
        log, saved = self.path("log"), self.path("saved.safetensors")
        if os.path.exists(log):
            os.remove(log)
        self.run_tool("train", model, "--data", self.path("data.npz"), "--shuffle=off", "--batch-size", "8", "--epochs", "1",
                      "--steps", "4", "--save", saved, device=device, MPC_FAKE_CUDA_LOG=log, **settings)  # fmt: skip
        with open(saved, "rb") as handle:
            content = handle.read()
        return [line for line in lines_of(log) if line.startswith("record ")], read_safetensors(saved), content

    @staticmethod
    def parts(launches):
        """Epilogues of gelu, and kernels in their place."""
        text = "\n".join(launches)
        epilogues = [each for each in re.findall(r"epilogue (\d+)", text) if int(each) & (32 | 64)]
        return sorted(epilogues), sorted(re.findall(r"launch mpc_(gelu_gradient|gelu)_", text))

    def assert_close(self, some, others, tolerance):
        self.assertEqual(set(some), set(others))
        self.assertGreater(len(some), 10)
        for key in some:
            np.testing.assert_allclose(some[key], others[key], rtol=tolerance, atol=tolerance, err_msg=key)

    def check(self, policy, tolerance):
        model = self.compile(policy)
        variants = {
            "all": ({}, [KEPT, DERIVATIVE], []),
            # Kernels of the artifact: asked for, or since the library has no gelu, or one whose tanh is off.
            "off": ({"MPC_CUBLASLT_GELU": "off"}, [], KERNELS),
            "none": ({"MPC_FAKE_CUBLASLT_GELU": "none"}, [], KERNELS),
            "coarse": ({"MPC_FAKE_CUBLASLT_GELU": "coarse"}, [], KERNELS),
            # The library keeps something else than the argument; the derivative is right.
            "result": ({"MPC_FAKE_CUBLASLT_GELU": "result"}, [DERIVATIVE], ["gelu"]),
        }
        weights, counts = {}, {}
        for name, (settings, epilogues, kernels) in variants.items():
            launches, weights[name], content = self.train(model, **settings)
            self.assertEqual(self.parts(launches), (epilogues, kernels), name)
            self.assertEqual(self.train(model, **settings)[2], content, name)
            self.assert_close(weights[name], weights["all"], tolerance)
            counts[name] = len(launches)
        self.assertEqual(counts["off"] - counts["all"], 2, counts)
        # Loops of the runtime; and the model of the CPU, which has gelu step by step.
        self.assert_close(self.train(model, device="cpu")[1], weights["all"], tolerance)
        on_cpu = self.train(self.compile(policy, target="cpu"), device="cpu")[1]
        self.assert_close(on_cpu, weights["all"], tolerance)

    def test_float16(self):
        self.check("mixed_float16", 2e-3)

    def test_bfloat16(self):
        self.check("mixed_bfloat16", 2e-2)

    def test_prediction_keeps_nothing(self):
        model = self.compile("mixed_bfloat16")
        log = self.path("predict.log")
        self.run_tool("predict", model, "--inputs", self.path("inputs.npz"), "--outputs", self.path("outputs.npz"),
                      MPC_FAKE_CUDA_LOG=log)  # fmt: skip
        # The plan's trial, then the product.
        self.assertEqual(re.findall(r"epilogue (36|164|192)", "\n".join(lines_of(log))), [GELU] * 2)

    def test_products_are_named(self):
        model = self.compile("mixed_bfloat16")
        for settings, names in (({}, ["cublaslt:gelu", "cublaslt:gelu_gradient"]), ({"MPC_CUBLASLT_GELU": "off"}, [])):
            text = self.run_tool("bench", model, "--train", "--batch-size", "8", "--steps", "1", "--warmup", "1", "--kernels",
                                 **settings)  # fmt: skip
            self.assertEqual(sorted(set(re.findall(r"cublaslt:\w+", text))), names, text)

    def test_other_forms_stay_kernels(self):
        for policy, approximate in (("float32", True), ("mixed_bfloat16", False)):
            launches, _, _ = self.train(self.compile(policy, approximate=approximate))
            self.assertEqual(self.parts(launches), ([], []), (policy, approximate))


if __name__ == "__main__":
    program = unittest.main(exit=False, argv=sys.argv[:1])
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
