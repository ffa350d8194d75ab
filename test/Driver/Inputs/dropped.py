# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The data of dropped.txtpb, or what its nodes do in prediction and in training: dropped.py DATA [PREDICTED TRAINED]"""

import sys

import numpy as np


def is_dropped(x, y, rate):
    """Whether about that share of elements is zero, and the others are scaled."""
    kept = y != 0
    return np.allclose(y[kept], x[kept] / np.float32(1 - rate)) and abs(1 - kept.mean() - rate) < 0.03


def main():
    if len(sys.argv) == 2:
        x = np.random.default_rng(1).normal(2, 3, [1000, 4]).astype(np.float32)
        np.savez(sys.argv[1], x=x, y0=x, y1=x, y2=x)
        return
    x = np.load(sys.argv[1])["x"]
    predicted, trained = (dict(np.load(path)) for path in sys.argv[2:])
    gamma, beta = np.float32([1, 2, 1, 1]), np.float32([0, 0, 3, 0])
    running, variance = np.float32([0, 0, 0, 1]), np.float32([1, 1, 4, 1])
    assert np.allclose(predicted["n"], (x - running) / np.sqrt(variance) * gamma + beta, rtol=1e-5, atol=1e-5)
    assert np.array_equal(predicted["d"], x)
    print("prediction: running statistics, nothing dropped")
    normal = (x - x.mean(0)) / np.sqrt(x.var(0)) * gamma + beta
    assert np.allclose(trained["out0"], normal, rtol=1e-4, atol=1e-4)
    assert np.allclose(trained["after:mean"], 0.75 * running + 0.25 * x.mean(0), rtol=1e-5)
    assert np.allclose(trained["after:variance"], 0.75 * variance + 0.25 * x.var(0), rtol=1e-4)
    print("training: the batch's statistics, which move the running ones")
    assert is_dropped(x, trained["out1"], 0.25) and is_dropped(x, trained["out2"], 0.25)
    assert not np.array_equal(trained["out1"] == 0, trained["out2"] == 0)
    print("training: both drop, and not the same")
    print("in prediction the one in training_mode", "drops" if is_dropped(x, predicted["t"], 0.25) else "keeps")


main()
