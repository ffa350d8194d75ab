# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keras on one of its backends, speaking the protocol of `mpc-run bench --serve` (READY, go N, TIMES, quit, DONE).

  keras_peer.py FOLDER MODE WARMUP THREADS JIT     with KERAS_BACKEND set; JIT is on or off
"""

import os
import sys

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
from serve import serve, take_stdout

channel = take_stdout()

model = keras.saving.load_model(os.path.join(folder, "model.keras"))
if mode == "train":
    model.compile(model.optimizer, loss=model.loss, jit_compile=jit)
else:
    model.compile(jit_compile=jit)
data = numpy.load(os.path.join(folder, "data.npz"))
x, y = keras.ops.convert_to_tensor(data["x"]), keras.ops.convert_to_tensor(data["y0"])


def step():
    if mode == "train":
        model.reset_metrics()
        return float(model.train_on_batch(x, y))
    return numpy.asarray(model.predict_on_batch(x))


serve(channel, step, warmup, {"program": "keras", "backend": backend, "jit": jit}, folder)
