# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs for contributed.txtpb, and how many of its results are onnxruntime's formulas: IN.npz [OUT.npz]"""

import math
import sys

import numpy as np

single = np.float32
x = (np.arange(24, dtype=single).reshape(8, 3) * single(7) % single(24) - single(8)) / single(4)
r, k = x[::-1] * single(0.5), x > 0
if len(sys.argv) == 2:
    np.savez(sys.argv[1], x=x, r=r, k=k)
    sys.exit()
w = np.array([[0.75, -1.0, -0.75], [-0.5, -0.75, 0.75]], single)
b, g, b3 = np.array([0.5, -1], single), np.array([1, 2, 0.5], single), np.array([0.25, -0.5, 1], single)


def quantize(number, scale, zero):
    return np.clip(np.rint(number / single(scale)) + zero, 0, 255).astype(np.uint8)


def dequantize(integers, scale, zero):
    return (integers.astype(single) - zero) * single(scale)


s = x + r
linear, q = s @ w.T + b, quantize(x, 0.125, 2)
biased, half, quarter = x + b3, dequantize(q, 0.5, 0), dequantize(q, 0.25, 1)
expected = [
    np.where(linear < 0, linear / 4, linear),
    (s - s.mean(1, keepdims=True)) / np.sqrt(s.var(1, keepdims=True) + 0.5) * g + b3,
    s,
    x @ w.T / 2,
    0.5 * biased * (1 + np.vectorize(math.erf)(biased / math.sqrt(2))),
    x / (1 + np.exp(-1.5 * x)),
    quantize(np.where(k, half, quarter), 0.125, 2),
    quantize(np.concatenate([half, quarter], 1), 0.25, 2),
    quantize(1 / (1 + np.exp(-half)), 0.125, 1),
]
outputs = np.load(sys.argv[2])
right = [outputs[f"out{i}"].dtype == (np.uint8 if i > 5 else single) and np.allclose(outputs[f"out{i}"], each, rtol=1e-5, atol=1e-6) for i, each in enumerate(expected)]
print(f"{sum(right)} of {len(expected)} outputs are as computed: {right}")
