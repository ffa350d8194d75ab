# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keras on one of its backends, speaking the protocol of `mpc-run bench --serve` (READY, go N, TIMES, quit, DONE).

  keras_peer.py FOLDER MODE WARMUP THREADS JIT     with KERAS_BACKEND set; JIT is on or off
"""

import json
import os
import resource
import sys
import time

folder, mode, warmup, threads, jit = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5] == "on"
os.environ["OMP_NUM_THREADS"] = str(threads)
backend = os.environ["KERAS_BACKEND"]
if backend == "tensorflow":
    import tensorflow

    tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
elif backend == "torch":
    import torch

    torch.set_num_threads(threads)

import keras
import numpy

# The protocol has stdout for itself.
out = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

model = keras.saving.load_model(os.path.join(folder, "model.keras"))
optimizer = model.optimizer
model.compile(optimizer, loss="sparse_categorical_crossentropy", jit_compile=jit)
data = numpy.load(os.path.join(folder, "data.npz"))
x, y = keras.ops.convert_to_tensor(data["x"]), keras.ops.convert_to_tensor(data["y0"])
loss = None


def step():
    """Seconds of one step, its result on the host."""
    global loss
    start = time.perf_counter()
    if mode == "train":
        model.reset_metrics()
        loss = float(model.train_on_batch(x, y))
    else:
        numpy.asarray(model.predict_on_batch(x))
    return time.perf_counter() - start


for _ in range(warmup):
    step()
print("READY " + json.dumps({"program": "keras", "backend": backend, "jit": jit}), file=out)
for line in sys.stdin:
    if line.strip() == "quit":
        break
    print("TIMES " + json.dumps([step() * 1e3 for _ in range(int(line.split()[1]))]), file=out)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print("DONE " + json.dumps({"loss": loss, "bytes_peak": peak}), file=out)
