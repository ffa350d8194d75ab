#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc-run serve with Triton's client: values equal predict's, JSON and binary, of several inputs, outputs and
dtypes; then 64 connections for a minute, without an error or growth. Usage: serve.py BIN [--minutes=N] [--sanitized]
A sanitized mpc-run is slow, and keeps memory of its own."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy
import tritonclient.http as triton

CONNECTIONS = 64
# Resident memory may not grow by more than this from the first fifth of the time to its end.
MOST_GROWTH = 8 << 20


def dense(name, units, source, dtype="float32", activation="linear"):
    return {"module": "keras.layers", "class_name": "Dense", "name": name, "inbound_nodes": [{"args": [tensor(*source)], "kwargs": {}}],
            "config": {"name": name, "units": units, "activation": activation,
                       "dtype": {"module": "keras", "class_name": "DTypePolicy", "config": {"name": dtype}}}}  # fmt: skip


def tensor(name, shape):
    return {"class_name": "__keras_tensor__", "config": {"shape": [None, *shape], "dtype": "float32", "keras_history": [name, 0, 0]}}


def source(name, shape, dtype):
    return {"module": "keras.layers", "class_name": "InputLayer", "name": name, "inbound_nodes": [],
            "config": {"batch_shape": [None, *shape], "dtype": dtype, "name": name}}  # fmt: skip


def architecture():
    """Two inputs, one of indices; three outputs, two of them narrow."""
    embedding = {"module": "keras.layers", "class_name": "Embedding", "name": "embedding", "inbound_nodes": [{"args": [tensor("words", [4])], "kwargs": {}}],
                 "config": {"name": "embedding", "input_dim": 10, "output_dim": 8, "dtype": "float32"}}  # fmt: skip
    flatten = {"module": "keras.layers", "class_name": "Flatten", "name": "flatten", "config": {"name": "flatten", "dtype": "float32"},
               "inbound_nodes": [{"args": [tensor("embedding", [4, 8])], "kwargs": {}}]}  # fmt: skip
    layers = [source("words", [4], "int32"), source("numbers", [6], "float32"), embedding, flatten,
              dense("of_words", 5, ("flatten", [32]), activation="softmax"),
              dense("half", 3, ("numbers", [6]), "float16"), dense("brain", 2, ("numbers", [6]), "bfloat16")]  # fmt: skip
    return {"module": "keras", "class_name": "Functional", "config": {
        "name": "several", "layers": layers, "input_layers": [["words", 0, 0], ["numbers", 0, 0]],
        "output_layers": [["of_words", 0, 0], ["half", 0, 0], ["brain", 0, 0]]}}  # fmt: skip


class Server:
    def __init__(self, tool, model, *options):
        self.process = subprocess.Popen([tool, "serve", model, "--port=0", *options], stderr=subprocess.PIPE, text=True)
        self.port = None
        for line in self.process.stderr:
            if match := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                self.port = int(match[1])
                break
        self.address = f"127.0.0.1:{self.port}"

    def resident(self):
        with open(f"/proc/{self.process.pid}/status") as lines:
            return int(re.search(r"VmRSS:\s+(\d+) kB", lines.read())[1]) * 1024

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        assert code == 0, code


def ask(client, model, arrays, names, isBinary):
    inputs = []
    for name, array in arrays.items():
        kind = {"int32": "INT32", "int64": "INT64", "float32": "FP32", "float64": "FP64", "float16": "FP16"}[str(array.dtype)]
        inputs.append(triton.InferInput(name, list(array.shape), kind))
        inputs[-1].set_data_from_numpy(array, binary_data=isBinary)
    outputs = [triton.InferRequestedOutput(name, binary_data=isBinary) for name in names]
    reply = client.infer(model, inputs, request_id="r", outputs=outputs)
    assert reply.get_response()["id"] == "r"
    return [reply.as_numpy(name) for name in names]


def values(tool, folder):
    """As many checks as were made."""
    model, x = os.path.join(folder, "several.mpc"), os.path.join(folder, "x.npz")
    with open(os.path.join(folder, "several.json"), "w") as out:
        json.dump(architecture(), out)
    subprocess.run([os.path.join(os.path.dirname(tool), "mpcc"), "-q", "--output-guard=off", out.name, "-o", model], check=True)
    random = numpy.random.default_rng(1)
    arrays = {"words": random.integers(0, 10, (7, 4)).astype(numpy.int32), "numbers": random.normal(size=(7, 6)).astype(numpy.float32)}
    numpy.savez(x, **arrays)
    subprocess.run([tool, "predict", model, "--inputs", x, "--outputs", os.path.join(folder, "y.npz")], check=True)
    with numpy.load(os.path.join(folder, "y.npz")) as wanted:
        wanted = [wanted[f"out{i}"] for i in range(3)]
    server, made = Server(tool, model), 0
    client = triton.InferenceServerClient(server.address)
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("several")
    assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
    metadata = client.get_model_metadata("several")
    assert [i["datatype"] for i in metadata["inputs"]] == ["INT32", "FP32"], metadata
    assert [o["datatype"] for o in metadata["outputs"]] == ["FP32", "FP16", "BF16"], metadata
    names = [o["name"] for o in metadata["outputs"]]
    made += 5
    for isBinary in [True, False]:
        # The client has no FP16 in JSON.
        for picked in [[0, 1, 2], [2, 0], [1]] if isBinary else [[0]]:
            got = ask(client, "several", arrays, [names[i] for i in picked], isBinary)
            for i, array in zip(picked, got):
                assert numpy.array_equal(array.astype(numpy.float32), wanted[i].astype(numpy.float32)), (i, isBinary)
                made += 1
    text = client.infer("several", inputs_in_json(arrays), outputs=[triton.InferRequestedOutput(name, binary_data=False) for name in names]).get_response()
    for i, output in enumerate(text["outputs"]):
        got = numpy.array(output["data"], numpy.float32).reshape(output["shape"])
        assert numpy.array_equal(got, wanted[i].astype(numpy.float32)), output
        made += 1
    for wrong, message in [({**arrays, "words": arrays["words"] + 100}, "expected values from 0 to 9"),
                           ({"words": arrays["words"]}, "numbers"), ({**arrays, "numbers": arrays["numbers"][:3]}, "rows")]:  # fmt: skip
        try:
            ask(client, "several", wrong, names, True)
        except triton.InferenceServerException as refusal:
            assert message in refusal.message() and refusal.status() == "400", refusal
            made += 1
    client.close()
    server.end()
    print(f"ok    values: {made} checks")
    return made


def inputs_in_json(arrays):
    inputs = []
    for name, array in arrays.items():
        inputs.append(triton.InferInput(name, list(array.shape), "INT32" if array.dtype == numpy.int32 else "FP32"))
        inputs[-1].set_data_from_numpy(array, binary_data=False)
    return inputs


def hold(tool, folder, minutes, isSanitized):
    """64 connections that ask one after the other; the latencies."""
    model = os.path.join(folder, "several.mpc")
    server = Server(tool, model)
    random = numpy.random.default_rng(2)
    rows = {"words": random.integers(0, 10, (1, 4)).astype(numpy.int32), "numbers": random.normal(size=(1, 6)).astype(numpy.float32)}
    first = triton.InferenceServerClient(server.address)
    wanted = ask(first, "several", rows, ["out0"], True)[0]
    end = time.monotonic() + minutes * 60
    latencies, faults, lock = [], [], threading.Lock()
    body, length = triton.InferenceServerClient.generate_request_body(inputs_in_binary(rows), outputs=[triton.InferRequestedOutput("out0", binary_data=True)])

    def connect():
        import http.client

        own, connection = [], http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        try:
            while time.monotonic() < end:
                start = time.monotonic()
                connection.request("POST", "/v2/models/several/infer", body, {"Inference-Header-Content-Length": str(length)})
                reply = connection.getresponse()
                text = reply.read()
                own.append(time.monotonic() - start)
                head = int(reply.headers["Inference-Header-Content-Length"])
                got = numpy.frombuffer(text[head:], numpy.float32)
                if reply.status != 200 or not numpy.allclose(got, wanted.ravel(), rtol=1e-5, atol=1e-7):
                    raise ValueError(f"{reply.status} {text[:200]}")
        except Exception as fault:  # pylint: disable=broad-except
            with lock:
                faults.append(fault)
        with lock:
            latencies.extend(own)

    threads = [threading.Thread(target=connect) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    time.sleep(minutes * 60 / 5)
    before = server.resident()
    for thread in threads:
        thread.join()
    after = server.resident()
    server.end()
    assert not faults, faults[:3]
    latencies.sort()
    at = lambda share: 1000 * latencies[min(int(share * len(latencies)), len(latencies) - 1)]  # noqa: E731
    print(f"ok    {CONNECTIONS} connections, {minutes:g} min: {len(latencies)} requests, {len(latencies) / minutes / 60:.0f}/s, "
          f"p50 {at(0.5):.1f} ms, p99 {at(0.99):.1f} ms, resident {before >> 20} MiB, then {after >> 20} MiB")  # fmt: skip
    if not isSanitized:
        assert after - before <= MOST_GROWTH, f"resident memory grew from {before} to {after}"
        assert len(latencies) > CONNECTIONS * minutes * 60
    return 2


def inputs_in_binary(arrays):
    inputs = inputs_in_json(arrays)
    for made, array in zip(inputs, arrays.values()):
        made.set_data_from_numpy(array, binary_data=True)
    return inputs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--sanitized", action="store_true")
    arguments = parser.parse_args()
    tool = os.path.join(os.path.abspath(arguments.bin), "mpc-run")
    with tempfile.TemporaryDirectory() as folder:
        made = values(tool, folder)
        made += hold(tool, folder, arguments.minutes, arguments.sanitized)
    print(f"ran {made} tests")


if __name__ == "__main__":
    sys.exit(main())
