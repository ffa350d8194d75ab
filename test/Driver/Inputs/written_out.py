# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of written_out.txtpb by NumPy, beside those of a prediction: written_out.py X.npz [Y.npz]"""

import math
import sys

import numpy as np


def main():
    if len(sys.argv) == 2:
        np.savez(sys.argv[1], x=np.random.default_rng(3).normal(size=[50, 4]).astype(np.float32))
        return
    x, got = (dict(np.load(path)) for path in sys.argv[1:])
    x = x["x"].astype(np.float64)
    gamma, beta = np.array([1, 2, 3, 4.0]), np.array([0, 1, 0, -1.0])
    difference = x - x.mean(-1, keepdims=True)
    erf = np.vectorize(math.erf)(x / math.sqrt(2))
    expected = {
        "normal": difference / np.sqrt((difference**2).mean(-1, keepdims=True) + 0.01) * gamma + beta,
        "gelu": 0.5 * x * (1 + erf),
        "about": 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        "silu": x / (1 + np.exp(-x)),
        "rms": x / np.sqrt((x**2).mean(-1, keepdims=True) + 0.01) * gamma,
        "plain": difference * gamma,
    }
    for name, wanted in expected.items():
        np.testing.assert_allclose(got[name], wanted, rtol=1e-5, atol=2e-6, err_msg=name)
    print(f"{len(expected)} outputs are as computed")


main()
