#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model that several ranks train from Python: `mpirun -np 4 python train.py`, or without mpirun on one.

    pip install REPOSITORY     # mpcc in PATH, or its folder in MPC_BIN
"""

import pathlib
import tempfile

import numpy as np

import mpc

MODEL = pathlib.Path(__file__).parent.parent / "c_predict" / "blobs.json"


def blobs(rows, seed):
    """Three clouds of points in four dimensions."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 3, rows).astype(np.int32)
    return draw.normal(size=(rows, 4)).astype(np.float32) + 2.0 * np.eye(3, 4, dtype=np.float32)[labels], labels


def main():
    # The same bytes on 1, 2 and 4 ranks.
    ranks = mpc.distribution.DataParallel(deterministic_ranks=4)
    with tempfile.TemporaryDirectory() as folder:
        # Each rank compiles for itself; where that takes long, compile once and let all load it.
        model = mpc.compile(str(MODEL), loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"],
                            initialize=1, options=["--distributed"], output=folder + "/blobs.mpc")  # fmt: skip
        model.distribute(ranks)
        x, y = blobs(2000, seed=1)
        history = model.fit(x, y, batch_size=100, epochs=5, verbose=0)
        if ranks.is_first:
            print(f"{ranks.size} ranks: loss {history.history['loss'][0]:.3f}, then {history.history['loss'][-1]:.3f}")
            print("sum of the weights:", sum(float(v.numpy().astype(np.float64).sum()) for v in model.trainable_variables).hex())


if __name__ == "__main__":
    main()
