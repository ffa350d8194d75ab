# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of perceptron.txtpb by NumPy, beside those of a prediction or of a training's trace."""

import os
import re
import sys

import numpy as np


def read_weights():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perceptron.txtpb")
    with open(path, encoding="utf-8") as file:
        rows = re.findall(r"initializer \{(.*)\}", file.read())
    for row in rows:
        shape = [int(each) for each in re.findall(r"dims: (\d+)", row)]
        yield np.float32(re.findall(r"float_data: (\S+)", row)).reshape(shape)


def main():
    w1, b1, w2, b2 = read_weights()
    with np.load(sys.argv[1]) as data:
        x, target = data["x"], data["y0"]
    found = dict(np.load(sys.argv[2]))
    losses = []
    for step in range(5):
        hidden = np.maximum(x @ w1 + b1, 0)
        y = hidden @ w2 + b2
        if step == 0 and "out0" in found:
            assert np.allclose(found["out0"], y, rtol=1e-5, atol=1e-6), (found["out0"], y)
            assert np.array_equal(found["y"], found["out0"])
            print("out0 and y are as computed")
            return
        losses.append(np.mean((y - target) ** 2))
        outer = 2 * (y - target) / y.size
        inner = (outer @ w2.T) * (hidden > 0)
        w1, b1, w2, b2 = (weight - np.float32(0.1) * gradient for weight, gradient in
                          ((w1, x.T @ inner), (b1, inner.sum(0)), (w2, hidden.T @ outer), (b2, outer.sum(0))))  # fmt: skip
    assert np.allclose(found["loss"], losses, rtol=1e-5), (found["loss"], losses)
    print(f"{len(losses)} losses are as computed")


main()
