# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A peer's side of the protocol of `mpc-run bench --serve`: READY, then TIMES for each `go N`, DONE after `quit`."""

import json
import os
import pathlib
import resource
import sys
import time


def take_stdout():
    """The protocol's channel: stdout, which from now on leads to stderr for whatever else prints."""
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return channel


def difference(result, folder):
    """How far a prediction is from mpc's (FOLDER/predicted.npz), relative to the largest value; None where there is no other."""
    path = pathlib.Path(folder) / "predicted.npz" if folder else None
    if path is None or isinstance(result, (float, type(None))) or not path.exists():
        return None
    import numpy

    expected = numpy.load(path)["out0"]
    return float(numpy.abs(result - expected).max() / numpy.abs(expected).max()) if result.shape == expected.shape else float("inf")


def serve(channel, step, warmup, ready, folder=None):
    """Serves `step`, which returns the loss or the prediction once it is on the host; `ready` says what runs."""
    result = None
    for _ in range(warmup):
        result = step()
    print("READY " + json.dumps(ready), file=channel)
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        times = []
        for _ in range(int(line.split()[1])):
            start = time.perf_counter()
            result = step()
            times.append((time.perf_counter() - start) * 1e3)
        print("TIMES " + json.dumps(times), file=channel)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    loss = result if isinstance(result, float) else None
    print("DONE " + json.dumps({"loss": loss, "difference": difference(result, folder), "bytes_peak": peak}), file=channel)
