# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""onnxruntime behind the standard library's threading HTTP server: the binary tensors of the Open Inference
Protocol, as little of it as the benchmark asks for. Usage: serve_peer.py WEIGHTS.safetensors THREADS"""

import http.server
import json
import struct
import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def weights(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, content = json.loads(file.read(length)), file.read()
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        yield name.replace("/", "_"), numpy.frombuffer(content[begin:end], numpy.float32).reshape(tensor["shape"])


def session(path, threads):
    tensors = dict(weights(path))
    count = len(tensors) // 2
    nodes, value = [], "x"
    for i in range(count):
        nodes.append(helper.make_node("Gemm", [value, f"dense_{i}_kernel", f"dense_{i}_bias"], [f"sum_{i}"]))
        value = "out0" if i == count - 1 else f"value_{i}"
        nodes.append(helper.make_node("Softmax" if i == count - 1 else "Relu", [f"sum_{i}"], [value]))
    width = tensors["dense_0_kernel"].shape[0]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", width])],
                              [helper.make_tensor_value_info("out0", TensorProto.FLOAT, ["n", None])],
                              [numpy_helper.from_array(array, name) for name, array in tensors.items()])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        length = int(self.headers["Inference-Header-Content-Length"])
        shape = json.loads(body[:length])["inputs"][0]["shape"]
        (out,) = self.server.session.run(None, {"x": numpy.frombuffer(body[length:], numpy.float32).reshape(shape)})
        head = json.dumps({"model_name": "net", "model_version": "1", "outputs": [
            {"name": "out0", "datatype": "FP32", "shape": list(out.shape), "parameters": {"binary_data_size": out.nbytes}}]}).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Inference-Header-Content-Length", str(len(head)))
        self.send_header("Content-Length", str(len(head) + out.nbytes))
        self.end_headers()
        self.wfile.write(head + out.tobytes())
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256


server = Server(("127.0.0.1", 0), Handler)
server.session = session(sys.argv[1], int(sys.argv[2]))
print(f"serving http://127.0.0.1:{server.server_address[1]}", file=sys.stderr, flush=True)
server.serve_forever()
