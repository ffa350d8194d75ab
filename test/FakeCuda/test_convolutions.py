#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions on a GPU, on the software device: by cuDNN where it is there and has an engine, else as
products of columns; what is recorded, listed and said of it."""

import json
import os
import re
import sys
import unittest

import numpy as np

from software_device import BUILD, FIXTURES, FolderTest, lines_of, run

CASE = os.path.join(FIXTURES, "keras", "train", "cnn__float32")
# cuDNN is refused for; cannot be opened; is not there.
WITHOUT = {"MPC_CUDNN": "off"}, {"MPC_FAKE_CUDNN_BROKEN": "1"}, "missing"


class Convolutions(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.compile("cnn", os.path.join(CASE, "model.keras"))
        # The libraries of the device but for cuDNN, whose file cannot be opened wherever else it is.
        cls.missing = cls.path("libraries")
        os.mkdir(cls.missing)
        fake = os.path.join(BUILD, "lib", "fake-cuda")
        for name in os.listdir(fake):
            if "cudnn" not in name:
                os.symlink(os.path.join(fake, name), os.path.join(cls.missing, name))
        with open(os.path.join(cls.missing, "libcudnn.so.9"), "w"):
            pass

    @classmethod
    def compile(cls, name, model, *options):
        folder = cls.path(name)
        result = run("mpcc", model, "-q", "--target=cuda:source", "--name=" + name, "-o", folder,
                     *options, fake=False)  # fmt: skip
        assert result.returncode == 0, result.stderr
        return folder

    def settings(self, without):
        if without != "missing":
            return without
        return {"LD_LIBRARY_PATH": self.missing}

    def run_tool(self, *command, without=None, **settings):
        if without is not None:
            settings = dict(settings, **self.settings(without))
        result = run("mpc-run", *command, "--device", "cuda:0", **settings)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def train(self, model=None, name="log", **settings):
        """Lines of the device's log, and the bytes of the weights."""
        log, weights = self.path(name), self.path(name + ".safetensors")
        if os.path.exists(log):
            os.remove(log)
        self.run_tool("train", model or self.model, "--data", os.path.join(CASE, "data.npz"), "--shuffle=off",
                      "--batch-size", "8", "--epochs", "1", "--steps", "4", "--save", weights,
                      MPC_FAKE_CUDA_LOG=log, **settings)  # fmt: skip
        with open(weights, "rb") as handle:
            return lines_of(log), handle.read()

    def predict(self, model, rows, name, **settings):
        inputs, outputs, log = self.path(name + ".in.npz"), self.path(name + ".npz"), self.path(name + ".log")
        np.savez(inputs, x0=rows)
        if os.path.exists(log):
            os.remove(log)
        self.run_tool("predict", model, "--inputs", inputs, "--outputs", outputs, MPC_FAKE_CUDA_LOG=log,
                      **settings)  # fmt: skip
        values = np.load(outputs)
        return lines_of(log), values[values.files[0]]

    def products(self, *options, **settings):
        return self.run_tool("bench", *options, "--steps", "2", "--kernels", **settings).stderr.splitlines()[1:]

    def test_steps_are_recorded_with_their_convolutions(self):
        lines, _ = self.train()
        recorded = [line for line in lines if line.startswith("record ")]
        convolutions = [line for line in recorded if "convolve" in line]
        self.assertTrue([line for line in convolutions if "forward" in line], recorded)
        self.assertTrue([line for line in convolutions if "filter gradient" in line], recorded)
        graphs = [int(line.split()[-1]) for line in lines if line.startswith("graph of ")]
        # The first of four steps made plans and memory, so that the second ran plainly, too.
        self.assertEqual(len(graphs), 2, lines)
        self.assertEqual(set(graphs), {len(recorded)})
        self.assertFalse([line for line in recorded if "copy" in line], recorded)
        # In float32, on no Tensor Core.
        for line in convolutions:
            self.assertRegex(line, r"type 0 .*engine 28$")

    def test_equal_runs_give_equal_bytes(self):
        self.assertEqual(self.train()[1], self.train()[1])

    def test_without_cudnn_columns_are_multiplied(self):
        for without in WITHOUT:
            with self.subTest(without):
                lines, _ = self.train(without=without)
                self.assertFalse([line for line in lines if "convolve " in line])
                self.assertTrue([line for line in lines if "mpc_columns" in line])

    def test_bench_lists_who_computes(self):
        with_library = self.products(self.model)
        self.assertTrue([line for line in with_library if re.search(r" forward .* cudnn:28$", line)], with_library)
        self.assertTrue([line for line in with_library if line.endswith(" cublaslt")], with_library)
        for without in WITHOUT:
            with self.subTest(without):
                lines = self.products(self.model, without=without)
                self.assertEqual(len(lines), len(with_library))
                self.assertFalse([line for line in lines if "cudnn" in line], lines)
                self.assertTrue([line for line in lines if re.search(r" forward .* im2col$", line)], lines)

    def test_missing_library_is_a_hint(self):
        def hint(**settings):
            listed = json.loads(run("mpc-run", "devices", "--json", **settings).stdout)
            return next(device["advice"] for device in listed if device["kind"] == "cuda")

        self.assertEqual(hint(), "")
        self.assertIn("libcudnn.so.9 is missing; install cuDNN 9", hint(LD_LIBRARY_PATH=self.missing))
        text = run("mpc-run", "devices", LD_LIBRARY_PATH=self.missing).stdout
        self.assertIn("  hint: convolutions run without cuDNN", text)

    def test_engine_slower_than_the_next(self):
        """The heuristics' first engine is taken unless another one is clearly faster, or columns are; all
        give the same numbers."""
        model = self.small("timed", 16, "linear", "--policy=mixed_float16")
        all_engines, no_columns = {"MPC_FAKE_CUDNN_SLOW": "41,42,44"}, {"MPC_FAKE_CUBLASLT_SLOW": "4"}
        values = {}
        for name, settings, ran in (
            ("off", {**all_engines, "MPC_CUDA_TRIALS": "off"}, "engine 41"),
            ("small", all_engines, "engine 41"),
            ("another", {"MPC_FAKE_CUDNN_SLOW": "41,42", **no_columns, "MPC_CUDA_TRIALS": "all"}, "engine 44"),
            ("columns", {**all_engines, "MPC_CUDA_TRIALS": "all"}, "epilogue 4"),
        ):  # fmt: skip
            lines, values[name] = self.predict(model, self.rows(), "timed_" + name, **settings)
            last = [line for line in lines if "convolve forward" in line or "multiply" in line][-1]
            self.assertTrue(last.endswith(" " + ran), (name, lines))
            np.testing.assert_array_equal(values[name], values["off"], name)

    def test_engines_of_float32_have_room(self):
        """An engine with a large workspace is taken where it is clearly faster and has the room; all give the same numbers."""
        model, values = self.small("roomy", 16, "linear"), {}
        slow = {"MPC_CUDA_TRIALS": "all", "MPC_FAKE_CUDNN_SLOW": "28", "MPC_FAKE_CUBLASLT_SLOW": "4"}
        for name, settings, engine in (
            ("slow", slow, 70), ("fast", {**slow, "MPC_FAKE_CUDNN_SLOW": "70"}, 28), ("off", {**slow, "MPC_CUDA_TRIALS": "off"}, 28),
            ("less", {**slow, "MPC_CUDNN_WORKSPACE": "2"}, 28), ("as much", {**slow, "MPC_CUDNN_WORKSPACE": "3"}, 70),
            ("a word", {**slow, "MPC_CUDNN_WORKSPACE": "1 GiB"}, 70),
            ("full", {**slow, "MPC_FAKE_CUDA_FREE": "5"}, 28), ("not full", {**slow, "MPC_FAKE_CUDA_FREE": "6"}, 70),
        ):  # fmt: skip
            lines, values[name] = self.predict(model, self.rows(), "roomy_" + name.replace(" ", "_"), **settings)
            last = [line for line in lines if "convolve forward" in line or "multiply" in line][-1]
            self.assertTrue(last.endswith(f" engine {engine}"), (name, lines))
            np.testing.assert_array_equal(values[name], values["slow"], name)

    def test_engines_of_both_heuristics_are_timed(self):
        """The second heuristic offers an engine for gradients that the first one does not."""
        slow = {"MPC_FAKE_CUDNN_SLOW": "28", "MPC_FAKE_CUBLASLT_SLOW": "1,4,6"}
        lines, saved = self.train(MPC_CUDA_TRIALS="all", **slow)
        gradients = [line for line in lines if line.startswith("record ") and "filter gradient" in line]
        self.assertTrue(gradients)
        for line in gradients:
            self.assertTrue(line.endswith(" engine 74"), gradients)
        lines, plain = self.train(**slow)
        self.assertFalse([line for line in lines if line.endswith(" engine 74")])
        self.assertEqual(saved, plain)

    def small(self, name, filters, activation, *options):
        layers = [
            {"class_name": "InputLayer", "config": {"batch_shape": [None, 6, 6, 8], "dtype": "float32", "name": "x"}},
            {"class_name": "Conv2D", "config": {"name": "c", "filters": filters, "kernel_size": [3, 3],
             "strides": [1, 1], "padding": "same", "activation": activation, "use_bias": True,
             "bias_initializer": {"module": "keras.initializers", "class_name": "RandomNormal",
                                  "config": {"mean": 0.0, "stddev": 1.0, "seed": 3}, "registered_name": None}}},
        ]  # fmt: skip
        for layer in layers:
            layer.update(module="keras.layers", registered_name=None)
        model = {"module": "keras", "class_name": "Sequential", "registered_name": None,
                 "config": {"name": name, "layers": layers}}  # fmt: skip
        path = self.path(name + ".json")
        with open(path, "w") as handle:
            json.dump(model, handle)
        return self.compile(name, path, "--mode=infer", *options)

    def rows(self):
        return np.random.default_rng(5).normal(size=(2, 6, 6, 8)).astype(np.float32)

    def test_bias_and_relu_are_part_of_the_graph_where_that_keeps_nan(self):
        model = self.small("fused", 8, "relu", "--policy=mixed_float16")
        rows = self.rows()
        rows[0, 0, 0, 0] = np.nan
        kept, values = self.predict(model, rows, "kept")
        lost, others = self.predict(model, rows, "lost", MPC_FAKE_CUDNN_RELU_LOSES_NAN="1")
        self.assertTrue([line for line in kept if line.endswith("epilogue 6 engine 41")], kept)
        self.assertFalse([line for line in kept if "mpc_biased" in line], kept)
        self.assertTrue([line for line in lost if line.endswith("epilogue 0 engine 60")], lost)
        self.assertEqual(sum("do launch mpc_biased" in line for line in lost), 1, lost)
        self.assertTrue(np.isnan(values[0, :2, :2]).all() and np.isfinite(values[1]).all())
        np.testing.assert_array_equal(np.isnan(values), np.isnan(others))
        # Behind the sum the bias rounds once more.
        np.testing.assert_allclose(others, values, rtol=2e-3, atol=2e-3)
        _, columns = self.predict(model, rows, "columns", without={"MPC_CUDNN": "off"})
        np.testing.assert_array_equal(columns, values)

    def test_float32_is_not_rounded_to_tf32(self):
        rows = self.rows()
        results = []
        for name, options, engine in (("ieee", [], 28), ("tf32", ["--fp32-precision=tf32"], 41)):
            model = self.small(name, 8, "linear", *options)
            lines, values = self.predict(model, rows, name)
            engines = {int(line.split()[-1]) for line in lines if line.startswith("do convolve")}
            self.assertEqual(engines, {engine}, lines)
            results.append(values)
        _, columns = self.predict(self.path("ieee"), rows, "columns", without={"MPC_CUDNN": "off"})
        # The bias of columns is added before the only rounding.
        self.assertLess(np.abs(columns - results[0]).max(), 1e-6)
        self.assertGreater(np.abs(results[1] - results[0]).max(), 1e-5)

    def test_shapes_without_an_engine_are_columns(self):
        model = self.small("odd", 12, "relu", "--policy=mixed_float16")
        lines, _ = self.predict(model, self.rows(), "odd")
        self.assertFalse([line for line in lines if "convolve " in line], lines)
        self.assertTrue([line for line in lines if "mpc_columns" in line], lines)


if __name__ == "__main__":
    program = unittest.main(exit=False, argv=sys.argv[:1])
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
