#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs that are as long as values say, on the software device and on the CPU: beside the loops of the definition."""

import sys
import unittest

import numpy as np

from software_device import FolderTest, run

SAMPLES, KINDS, BOXES, LIMIT = 2, 3, 40, 10
PLACES = SAMPLES * KINDS * LIMIT
MODEL = f"""
func.func @forward(%boxes: tensor<{SAMPLES}x{BOXES}x4xf32> {{mpc.input = "boxes"}}, %scores: tensor<{SAMPLES}x{KINDS}x{BOXES}xf32> {{mpc.input = "scores"}})
    -> (tensor<{SAMPLES}x{KINDS}x{LIMIT}xi32> {{mpc.output = "out0"}},
        tensor<{PLACES}xi64> {{mpc.output = "out1", mpc.form = [#mpc.bounded<axis = 0, extent = "out2">]}}, tensor<i64> {{mpc.output = "out2"}}) {{
  %0:3 = mpc.layer "select" kind "Select" inputs(%boxes, %scores) : (tensor<{SAMPLES}x{BOXES}x4xf32>, tensor<{SAMPLES}x{KINDS}x{BOXES}xf32>)
      -> (tensor<{SAMPLES}x{KINDS}x{LIMIT}xi32>, tensor<{PLACES}xi64>, tensor<i64>) {{
  ^bb0(%b: tensor<{SAMPLES}x{BOXES}x4xf32>, %s: tensor<{SAMPLES}x{KINDS}x{BOXES}xf32>):
    %overlap = mpc.constant dense<0.4> : tensor<f32>
    %least = mpc.constant dense<0.3> : tensor<f32>
    %picks = mpc.select_boxes %b, %s overlap %overlap least %least {{limit = {LIMIT} : i64}} : tensor<{SAMPLES}x{BOXES}x4xf32>, tensor<{SAMPLES}x{KINDS}x{BOXES}xf32>, tensor<f32>, tensor<f32> -> tensor<{SAMPLES}x{KINDS}x{LIMIT}xi32>
    %zero = mpc.constant dense<0> : tensor<i32>
    %mask = mpc.compare ge %picks, %zero : tensor<{SAMPLES}x{KINDS}x{LIMIT}xi32>, tensor<i32>
    %flat = mpc.reshape %mask : tensor<{SAMPLES}x{KINDS}x{LIMIT}xi1> -> tensor<{PLACES}xi1>
    %places, %count = mpc.compact %flat : tensor<{PLACES}xi1> -> tensor<{PLACES}xi64>, tensor<i64>
    mpc.yield %picks, %places, %count : tensor<{SAMPLES}x{KINDS}x{LIMIT}xi32>, tensor<{PLACES}xi64>, tensor<i64>
  }}
  return %0#0, %0#1, %0#2 : tensor<{SAMPLES}x{KINDS}x{LIMIT}xi32>, tensor<{PLACES}xi64>, tensor<i64>
}}
"""


def shares(one, other):
    """Of the united area, in float32."""
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    if not np.all(high > low):
        return np.float32(0)
    common = np.prod(high - low)
    return common / (np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2]) - common)


def chosen(boxes, scores):
    picks = np.full((SAMPLES, KINDS, LIMIT), -1, np.int32)
    for sample in range(SAMPLES):
        for kind in range(KINDS):
            taken = []
            for i in np.argsort(-scores[sample, kind], kind="stable"):
                if scores[sample, kind, i] > np.float32(0.3) and len(taken) < LIMIT:
                    if all(shares(boxes[sample, i], boxes[sample, j]) <= np.float32(0.4) for j in taken):
                        taken.append(i)
            picks[sample, kind, : len(taken)] = taken
    return picks


class Selection(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(cls.path("model.mlir"), "w", encoding="utf-8") as file:
            file.write(MODEL)
        done = run("mpcc", cls.path("model.mlir"), "--target=cuda:source", "-o", cls.path("model.mpc"), "--name=model")
        assert done.returncode == 0, done.stderr

    def predict(self, boxes, scores, device):
        np.savez(self.path("x.npz"), boxes=boxes, scores=scores)
        done = run("mpc-run", "predict", self.path("model.mpc"), "--inputs", self.path("x.npz"), "--outputs", self.path("y.npz"), "--device", device)
        self.assertEqual(done.returncode, 0, done.stderr)
        with np.load(self.path("y.npz")) as arrays:
            return dict(arrays)

    def check(self, spread, highest):
        draw = np.random.default_rng(5)
        corners = draw.uniform(0, spread, (SAMPLES, BOXES, 2))
        boxes = np.concatenate([corners, corners + draw.uniform(0.5, 2, corners.shape)], axis=2).astype(np.float32)
        scores = (np.round(draw.uniform(0, 1, (SAMPLES, KINDS, BOXES)), 1) * highest).astype(np.float32)
        picks = chosen(boxes, scores)
        for device in ("cpu", "cuda:0"):
            got = self.predict(boxes, scores, device)
            self.assertEqual(sorted(got), ["out0", "out1"])
            np.testing.assert_array_equal(got["out0"], picks, device)
            np.testing.assert_array_equal(got["out1"], np.flatnonzero(picks >= 0), device)
        return picks

    def test_boxes_that_overlap(self):
        picks = self.check(spread=1, highest=1)
        self.assertTrue(0 < np.count_nonzero(picks >= 0) < picks.size)

    def test_boxes_that_do_not_overlap(self):
        self.assertTrue(np.all(self.check(spread=1000, highest=1) >= 0))

    def test_no_box(self):
        self.assertTrue(np.all(self.check(spread=3, highest=0.1) < 0))


if __name__ == "__main__":
    program = unittest.main(exit=False, argv=sys.argv[:1])
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
