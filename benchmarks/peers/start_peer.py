# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The guide's model in another program: loads it, predicts one sample, prints when that was done.

  start_peer.py make WEIGHTS.safetensors FOLDER      writes what the two below load
  start_peer.py onnxruntime|torch FOLDER
"""
import json
import sys
import time

LAYERS = ["dense_1", "dense_2", "dense_logits"]


def make(weights, folder):
    import numpy as np

    with open(weights, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        content = file.read()
    values = {name: np.frombuffer(content[slice(*entry["data_offsets"])], np.float32).reshape(entry["shape"])
              for name, entry in header.items()}  # fmt: skip
    try:
        import onnx
        from onnx import helper, numpy_helper

        nodes, before = [], "digits"
        for layer in LAYERS:
            last = layer == LAYERS[-1]
            nodes.append(helper.make_node("Gemm", [before, f"{layer}/kernel", f"{layer}/bias"], [layer]))
            nodes.append(helper.make_node("Softmax" if last else "Relu", [layer], [layer + "/out"]))
            before = layer + "/out"
        tensor = lambda name, width: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", width])
        graph = helper.make_graph(nodes, "guide", [tensor("digits", 784)], [tensor(before, 10)],
                                  [numpy_helper.from_array(value, name) for name, value in values.items()])  # fmt: skip
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), folder + "/guide.onnx")
    except ImportError:
        pass
    try:
        import torch

        layers = []
        for layer in LAYERS:
            kernel = values[f"{layer}/kernel"]
            linear = torch.nn.Linear(*kernel.shape)
            linear.weight.data = torch.from_numpy(np.ascontiguousarray(kernel.T))
            linear.bias.data = torch.from_numpy(values[f"{layer}/bias"])
            layers += [linear, torch.nn.Softmax(-1) if layer == LAYERS[-1] else torch.nn.ReLU()]
        torch.jit.script(torch.nn.Sequential(*layers)).save(folder + "/guide.pt")
    except ImportError:
        pass


def main():
    if sys.argv[1] == "make":
        return make(sys.argv[2], sys.argv[3])
    folder = sys.argv[2]
    if sys.argv[1] == "onnxruntime":
        import numpy as np
        import onnxruntime

        session = onnxruntime.InferenceSession(folder + "/guide.onnx", providers=["CPUExecutionProvider"])
        session.run(None, {"digits": np.zeros((1, 784), np.float32)})
    else:
        import torch

        with torch.inference_mode():
            torch.jit.load(folder + "/guide.pt")(torch.zeros(1, 784))
    print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))


if __name__ == "__main__":
    main()
