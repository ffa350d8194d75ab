# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of mpc-run share: running the tool, and the hand-written model in NumPy."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from tensor_files import read_safetensors, write_safetensors  # tests take them from here

BUILD = os.environ.get(
    "MPC_BUILD", os.path.join(os.path.dirname(__file__), "..", "..", "..", "build", "release")
)
TOOL = os.path.join(BUILD, "bin", "mpc-run")
LIBRARY = os.path.join(BUILD, "test", "linear.mpc", "liblinear.so")


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = os.path.join(self.folder, "linear.mpc")
        os.mkdir(self.model)
        shutil.copy(LIBRARY, self.model)
        random = numpy.random.default_rng(1)
        self.kernel = random.normal(size=(3, 4)).astype(numpy.float32)
        self.bias = random.normal(size=4).astype(numpy.float32)
        self.mean = numpy.zeros(3, numpy.float32)
        write_safetensors(
            os.path.join(self.model, "linear.safetensors"),
            {"dense/kernel": self.kernel, "dense/bias": self.bias, "norm/moving_mean": self.mean},
        )
        self.x = random.normal(size=(20, 3)).astype(numpy.float32)
        self.y = random.integers(0, 4, 20).astype(numpy.int32)
        self.data = self.save("data.npz", features=self.x, y0=self.y)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def save(self, name, **arrays):
        numpy.savez(self.path(name), **arrays)
        return self.path(name)

    def load(self, name):
        with numpy.load(self.path(name)) as arrays:
            return {key: arrays[key] for key in arrays.files}

    def run_tool(self, *arguments, expect=0, **keywords):
        result = subprocess.run(
            [TOOL, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"},
            **keywords,
        )
        self.assertEqual(result.returncode, expect, result.stderr + result.stdout)
        return result

    def fails(self, *arguments, message, code=1, **keywords):
        result = self.run_tool(*arguments, expect=code, **keywords)
        self.assertRegex(result.stderr, message)
        self.assertEqual(result.stdout, "")
        for line in result.stderr.splitlines():
            self.assertRegex(line, "^(error|note|warning): ")
        return result


class Linear:
    """The model of test/Unit/runtime/training/linear_model.c, in float64."""

    def __init__(self, kernel, bias, seed=0):
        self.kernel, self.bias = kernel.astype(float), bias.astype(float)
        self.kernel_momentum = numpy.zeros((3, 4))
        self.bias_momentum = numpy.zeros(4)
        self.mean = numpy.zeros(3)
        self.seed, self.calls, self.rate = seed, 0, 0.125
        self.scale, self.counter, self.iterations = 1024.0, 0, 0

    def probabilities(self, x):
        logits = x.astype(float) @ self.kernel + self.bias
        powers = numpy.exp(logits - logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def loss(self, x, y, weights=None):
        weights = numpy.ones(len(x)) if weights is None else weights
        p = self.probabilities(x)[numpy.arange(len(x)), y]
        return float((-numpy.log(numpy.maximum(p, 1e-7)) * weights).sum() / len(x))

    def accuracy(self, x, y):
        return float((self.probabilities(x).argmax(axis=1) == y).mean())

    def gradients(self, x, y, weights=None):
        weights = numpy.ones(len(x)) if weights is None else weights
        delta = (self.probabilities(x) - numpy.eye(4)[y]) * weights[:, None] / len(x)
        return x.astype(float).T @ delta, delta.sum(axis=0), delta @ self.kernel.T

    def step(self, x, y, weights=None):
        with numpy.errstate(all="ignore"):
            loss = self.loss(x, y, weights)
            kernel, bias, _ = self.gradients(x, y, weights)
            self.mean = self.mean * 0.75 + x.mean(axis=0) * 0.25
        bias[0] += (self.seed * 31 + self.calls) % 7 * 0.001953125
        self.calls += 1
        if not (numpy.isfinite(kernel).all() and numpy.isfinite(bias).all()):
            self.scale, self.counter = self.scale / 2, 0
            return loss
        self.kernel_momentum = 0.5 * self.kernel_momentum - self.rate * kernel
        self.bias_momentum = 0.5 * self.bias_momentum - self.rate * bias
        self.kernel += self.kernel_momentum
        self.bias += self.bias_momentum
        self.iterations += 1
        self.counter += 1
        if self.counter == 3:
            self.scale, self.counter = self.scale * 2, 0
        return loss


def main():
    program = unittest.main(exit=False, verbosity=1)
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
