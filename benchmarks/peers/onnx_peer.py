# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads' models in onnxruntime, exported from PyTorch, speaking the protocol of `mpc-run bench --serve`
(READY, go N, TIMES, quit, DONE). Predicts in float32 only: on CPUs onnxruntime multiplies no bfloat16.

  onnx_peer.py FOLDER WARMUP THREADS WORKLOAD-JSON
"""

import json
import os
import sys

folder, warmup, threads, workload = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
os.environ["KERAS_BACKEND"] = "torch"

import numpy
import onnxruntime
import torch
import torch_models
from serve import serve, take_stdout

channel = take_stdout()


class Predictor(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = torch_models.load(folder, workload)

    def forward(self, x):
        return torch_models.finish(workload, self.model(x))


x = numpy.load(os.path.join(folder, "data.npz"))["x"]
path = os.path.join(folder, "model.onnx")
torch.onnx.export(Predictor().eval(), (torch.from_numpy(x),), path, input_names=["x"], dynamo=True)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def step():
    return session.run(None, {"x": x})[0]


serve(channel, step, warmup, {"program": "onnxruntime"}, folder)
