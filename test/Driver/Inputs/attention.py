# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of attention.txtpb by NumPy, beside those of a prediction: attention.py X.npz [Y.npz TOLERANCE]"""

import sys

import numpy as np


def softmax(scores):
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def main():
    if len(sys.argv) == 2:
        draw = np.random.default_rng(5)
        shapes = {"q": [3, 96, 2, 4], "k": [3, 96, 2, 4], "v": [3, 96, 2, 4], "q2": [3, 5, 8], "k2": [3, 7, 8], "v2": [3, 7, 3], "m2": [3, 1, 7]}
        np.savez(sys.argv[1], **{name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()})
        return
    with np.load(sys.argv[1]) as file:
        x = {name: file[name].astype(np.float64) for name in file}
    got, tolerance = dict(np.load(sys.argv[2])), float(sys.argv[3])
    scores = np.einsum("nthw,nshw->nhts", x["q"], x["k"]) / 2
    scores[np.broadcast_to(np.triu(np.ones([96, 96], bool), 1), scores.shape)] = -np.inf
    expected = {
        "y": np.einsum("nhts,nshw->nthw", softmax(scores), x["v"]),
        "y2": softmax(x["q2"] @ x["k2"].transpose(0, 2, 1) / 2 + x["m2"]) @ x["v2"],
    }
    for name, wanted in expected.items():
        np.testing.assert_allclose(got[name], wanted, rtol=0, atol=tolerance * np.abs(wanted).max(), err_msg=name)
    print(f"{len(expected)} outputs are as computed")


main()
