# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A peer's side of the protocol of `mpc-run bench --serve`: READY, then TIMES for each `go N`, DONE after `quit`."""

import json
import os
import resource
import sys
import time


def take_stdout():
    """The protocol's channel: stdout, which from now on leads to stderr for whatever else prints."""
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return channel


def serve(channel, step, warmup, ready):
    """Serves `step`, which returns the loss or None once its result is on the host; `ready` says what runs."""
    loss = None
    for _ in range(warmup):
        loss = step()
    print("READY " + json.dumps(ready), file=channel)
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        times = []
        for _ in range(int(line.split()[1])):
            start = time.perf_counter()
            loss = step()
            times.append((time.perf_counter() - start) * 1e3)
        print("TIMES " + json.dumps(times), file=channel)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print("DONE " + json.dumps({"loss": loss, "bytes_peak": peak}), file=channel)
