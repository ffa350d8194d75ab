#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention on a GPU, on the software device: one call of cuDNN where it is there and has an engine,
else products and kernels; beside the same model on the CPU, which has attention op by op."""

import json
import os
import re
import sys
import unittest

import numpy as np

from software_device import ROOT, FolderTest, lines_of, run
from tensor_files import read_safetensors

TRANSFORMER = os.path.join(ROOT, "benchmarks", "gpu", "transformer.json")
PLACES, WIDTH = 12, 16


def changed(value, key, sizes):
    """The benchmark's transformer with other extents."""
    if isinstance(value, dict):
        return {k: changed(v, k, sizes) for k, v in value.items()}
    if isinstance(value, list):
        return [changed(v, key, sizes) for v in value]
    return sizes.get(key, sizes.get(value, value)) if isinstance(value, int) and not isinstance(value, bool) else value


class Attention(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path_of_data = cls.path("data.npz")
        random = np.random.default_rng(3)
        cls.inputs = random.normal(size=(32, PLACES, WIDTH)).astype(np.float32)
        np.savez(cls.path_of_data, x0=cls.inputs,
                 y0=random.integers(0, 10, size=32))  # fmt: skip

    def compile(self, name, *options, heads=2, width=8, causal=False, dropout=0.0, target="cuda:source"):
        with open(TRANSFORMER) as handle:
            model = json.load(handle)
        model = changed(model, None, {128: PLACES, 256: WIDTH, 1024: 32, "num_heads": heads, "key_dim": width,
                                      "value_dim": width})  # fmt: skip
        for layer in model["config"]["layers"]:
            if layer["class_name"] == "MultiHeadAttention":
                layer["config"]["dropout"] = dropout
            if layer["class_name"] == "MultiHeadAttention" and causal:
                layer["inbound_nodes"][0]["kwargs"]["use_causal_mask"] = True
        path, folder = self.path(name + ".json"), self.path(name)
        with open(path, "w") as handle:
            json.dump(model, handle)
        result = run("mpcc", path, "--target=" + target, "--optimizer=sgd", "--custom-loop=off",
                     "--loss=sparse_categorical_crossentropy", "--name=" + name, "-o", folder,
                     *options, fake=False)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        self.said = result.stdout + result.stderr
        return folder

    def run_tool(self, *command, device="cuda:0", **settings):
        result = run("mpc-run", *command, "--device", device, **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def train(self, model, name="log", device="cuda:0", **settings):
        """Lines of the device's log, and the weights after four steps."""
        log, weights = self.path(name + ".log"), self.path(name + ".safetensors")
        if os.path.exists(log):
            os.remove(log)
        self.run_tool("train", model, "--data", self.path_of_data, "--shuffle=off", "--batch-size", "8", "--epochs",
                      "1", "--steps", "4", "--save", weights, device=device, MPC_FAKE_CUDA_LOG=log,
                      **settings)  # fmt: skip
        return lines_of(log), read_safetensors(weights)

    def predict(self, model, name, device="cuda:0", **settings):
        inputs, outputs, log = self.path(name + ".in.npz"), self.path(name + ".npz"), self.path(name + ".log")
        np.savez(inputs, x0=self.inputs[:5])
        if os.path.exists(log):
            os.remove(log)
        self.run_tool("predict", model, "--inputs", inputs, "--outputs", outputs, device=device,
                      MPC_FAKE_CUDA_LOG=log, **settings)  # fmt: skip
        with np.load(outputs) as values:
            return lines_of(log), values[values.files[0]]

    def assert_close(self, some, others, tolerance):
        self.assertEqual(set(some), set(others))
        self.assertGreater(len(some), 10)
        for key in some:
            np.testing.assert_allclose(some[key], others[key], rtol=tolerance, atol=tolerance, err_msg=key)  # fmt: skip

    def test_predictions_are_those_of_the_cpu(self):
        for policy, tolerance in (("mixed_float16", 2e-3), ("mixed_bfloat16", 2e-2)):
            for causal in (False, True):
                with self.subTest(policy, causal=causal):
                    name = f"{policy}_{causal}"
                    options = ("-q", "--policy=" + policy, "--mode=infer")
                    model = self.compile(name, *options, causal=causal)
                    cpu = self.compile("cpu_" + name, *options, causal=causal, target="cpu")
                    lines, values = self.predict(model, name)
                    self.assertEqual(len([line for line in lines if "attend " in line]), 1, lines)
                    self.assertFalse([line for line in lines if "mpc_attention" in line], lines)
                    off, products = self.predict(model, name + "_off", MPC_CUDNN="off")
                    self.assertFalse([line for line in off if "attend " in line], off)
                    self.assertTrue([line for line in off if "mpc_attention_softmax" in line], off)
                    _, wanted = self.predict(cpu, "cpu_" + name, device="cpu")
                    np.testing.assert_allclose(values, wanted, rtol=0, atol=tolerance)
                    np.testing.assert_allclose(products, wanted, rtol=0, atol=tolerance)

    def test_dropout_is_one_call_in_predictions(self):
        model = self.compile("dropped", "--explain=passes", "--policy=mixed_float16", dropout=0.3)
        self.assertIn("training drops some of its probabilities", self.said)
        self.assertIn("attention is one call where nothing trains", self.said)
        cpu = self.compile("cpu_dropped", "-q", "--policy=mixed_float16", dropout=0.3, target="cpu")
        lines, values = self.predict(model, "dropped")
        self.assertEqual(len([line for line in lines if "attend " in line]), 1, lines)
        _, wanted = self.predict(cpu, "cpu_dropped", device="cpu")
        np.testing.assert_allclose(values, wanted, rtol=0, atol=2e-3)
        lines, _ = self.train(model)
        self.assertFalse([line for line in lines if "attend " in line], lines)

    def test_dropout_is_trained_op_by_op(self):
        """The numbers that are dropped are those of the CPU, and the same in each run."""
        options = ("-q", "--policy=mixed_bfloat16")
        model, cpu = self.compile("drops", *options, dropout=0.3), self.compile("cpu_drops", *options, dropout=0.3, target="cpu")
        lines, weights = self.train(model, "drops")
        self.assertFalse([line for line in lines if "attend " in line], lines)
        _, again = self.train(model, "drops_again")
        for key in weights:
            np.testing.assert_array_equal(weights[key], again[key])
        _, wanted = self.train(cpu, "cpu_drops", device="cpu")
        self.assert_close(weights, wanted, 5e-3)

    def test_steps_are_recorded_and_give_equal_bytes(self):
        model = self.compile("steps", "-q", "--policy=mixed_bfloat16", causal=True)
        lines, weights = self.train(model)
        recorded = [line for line in lines if line.startswith("record ")]
        attended = [line for line in recorded if "attend " in line]
        self.assertEqual(len(attended), 2, recorded)
        self.assertRegex(attended[0], r"attend 8x2x12x12x8x8 type 9 engine 2$")
        self.assertRegex(attended[1], r"attend gradient 8x2x12x12x8x8 type 9 engine 6$")
        self.assertFalse([line for line in recorded if "mpc_attention" in line or "mpc_exchanged" in line], recorded)
        _, again = self.train(model, "again")
        for key in weights:
            np.testing.assert_array_equal(weights[key], again[key])
        off, products = self.train(model, "off", MPC_CUDNN="off")
        self.assertTrue([line for line in off if "mpc_exchanged_16" in line], off)
        cpu = self.compile("steps_cpu", "-q", "--policy=mixed_bfloat16", causal=True, target="cpu")
        _, wanted = self.train(cpu, "cpu", device="cpu")
        self.assert_close(weights, wanted, 5e-3)
        self.assert_close(products, wanted, 5e-3)

    def test_a_block_takes_few_launches(self):
        """A step is one graph; op by op it was 43 nodes (docs/decisions/0045)."""
        model = self.compile("counted", "-q", "--policy=mixed_bfloat16")
        for settings, most in (({}, 35), ({"MPC_CUDNN": "off"}, 47)):
            lines, _ = self.train(model, "counted", **settings)
            graphs = {int(line.split()[-1]) for line in lines if line.startswith("graph of ")}
            self.assertEqual(len(graphs), 1, lines)
            self.assertLessEqual(graphs.pop(), most)

    def test_derivatives_without_an_engine_are_products(self):
        model = self.compile("wide", "-q", "--policy=mixed_float16", heads=1, width=136)
        lines, weights = self.train(model, "wide_log")
        done = [line for line in lines if line.startswith("do ")]
        self.assertTrue([line for line in done if "attend 8x1" in line])
        self.assertFalse([line for line in done if "attend gradient" in line])
        self.assertTrue([line for line in done if "mpc_attention_derivative" in line])
        _, products = self.train(model, "wide_off", MPC_CUDNN="off")
        self.assert_close(weights, products, 2e-3)

    def test_bench_lists_who_attends(self):
        model = self.compile("listed", "-q", "--policy=mixed_float16")

        def listed(**settings):
            return self.run_tool("bench", model, "--steps", "2", "--kernels", **settings).stderr.splitlines()

        self.assertTrue([line for line in listed() if re.search(r" attention \S+ float16 cudnn:2$", line)])
        self.assertTrue([line for line in listed() if re.search(r" attention_gradient \S+ float16 cudnn:6$", line)])
        off = listed(MPC_CUDNN="off")
        self.assertEqual(len([line for line in off if re.search(r" attention(_gradient)? .* products$", line)]), 2, off)

    def test_explanations_say_what_is_formed(self):
        self.compile("explained", "--policy=mixed_float16", "--explain=passes")
        self.assertIn("attention is one call", self.said)
        self.compile("explained32", "--policy=float32", "--explain=passes")
        self.assertIn("attention is products and a softmax: it is not in 16 bits", self.said)


if __name__ == "__main__":
    program = unittest.main(exit=False, argv=sys.argv[:1])
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
