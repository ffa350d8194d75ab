# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Epochs of the Python package from arrays and from what gives batches, in turns. Prints JSON: rows per second of each call and
source, a number per round. For benchmarks/streams.

  stream_epochs.py ROOT SECONDS ROUNDS THREADS
"""

import json
import pathlib
import sys
import time

import mpc
import numpy as np

WORKLOADS = [("guide's model, batch 128", "examples/mnist_mlp/model.json", 128), ("256 units, batch 128", "examples/mnist_mlp/model_256.keras", 128),
             ("256 units, batch 32", "examples/mnist_mlp/model_256.keras", 32)]  # fmt: skip
CALLS = ("fit", "evaluate", "predict")


class Indexed:
    """As a keras.utils.PyDataset."""

    def __init__(self, batches):
        self.batches, self.num_batches = batches, len(batches)

    def __getitem__(self, index):
        return self.batches[index]

    def on_epoch_end(self): ...


def sources(x, y, batch):
    """Arrays, and batches of them that cost nothing to make."""
    batches = [(x[begin : begin + batch], y[begin : begin + batch]) for begin in range(0, len(x), batch)]
    return {"arrays": (x, y), "generator": (lambda: (each for each in batches),), "by number": (Indexed(batches),)}


def epoch(model, call, source, batch):
    """Seconds of a call over all rows."""
    first = source[0]() if callable(source[0]) else source[0]
    begin = time.perf_counter()
    if call == "fit":
        model.fit(first, *source[1:], batch_size=batch, shuffle=False, verbose=0)
    elif call == "evaluate":
        model.evaluate(first, *source[1:], batch_size=batch)
    else:
        model.predict(first, batch_size=batch)
    return time.perf_counter() - begin


def measure(path, batch, seconds, rounds, threads):
    model = mpc.compile(path, initialize=1, policy="float32", threads=threads)
    draw = np.random.default_rng(0)
    found = {}
    for call in CALLS:
        x, y = draw.uniform(size=(8 * batch, 784)).astype(np.float32), draw.integers(0, 10, 8 * batch).astype(np.int32)
        epoch(model, call, (x, y), batch)
        once = epoch(model, call, (x, y), batch)
        count = 8 * batch * max(1, round(seconds / once))
        x, y = np.resize(x, (count, 784)), np.resize(y, count)
        given = sources(x, y, batch)
        rates = {name: [] for name in given}
        for number in range(rounds):
            names = list(given)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                rates[name].append(count / epoch(model, call, given[name], batch))
        found[call] = rates
    return found


def main():
    root, seconds, rounds, threads = pathlib.Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    print(json.dumps({name: measure(root / path, batch, seconds, rounds, threads) for name, path, batch in WORKLOADS}))


if __name__ == "__main__":
    main()
