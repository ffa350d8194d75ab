#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the first files of test/Fuzz/corpora: one of each kind that the formats have, as NumPy and
our tools write them. Usage: make-seeds.py CORPORA [BIN]

BIN is a folder of tools; with it the checkpoint, the IR and its bytecode are made, too."""

import gzip
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOBS = os.path.join(ROOT, "examples/c_predict/blobs.json")


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def npz(compress, **arrays):
    out = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(out, **arrays)
    return out.getvalue()


def archive(*members):
    """Stored, without a date, as mpcc writes them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in members:
            file.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def idx(code, dims, content):
    return bytes([0, 0, code, len(dims)]) + struct.pack(f">{len(dims)}I", *dims) + content


def safetensors(header, content):
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 64)
    return struct.pack("<Q", len(text)) + text + content


def request():
    """An inference request in JSON, and one whose tensor follows in binary."""
    tensor = {"name": "x", "shape": [1, 3], "datatype": "FP32"}
    outputs = [{"name": "out0", "parameters": {"binary_data": True}}]
    yield json.dumps({"id": "a", "inputs": [{**tensor, "data": [[1, -2.5, 3e2]]}], "outputs": outputs}).encode()
    binary = {**tensor, "parameters": {"binary_data_size": 12}}
    yield json.dumps({"inputs": [binary], "parameters": {"binary_data_output": False}}).encode()


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def message(*fields):
    """Protobuf: pairs of a field's number and an integer, a float, a text or the bytes of a message."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            out += varint(number << 3 | 5) + struct.pack("<f", value)
        else:
            content = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(content)) + content
    return out


def onnx_models():
    """Models of ONNX, by the numbers of its schema (lib/Import/ONNX/Reader/Onnx.proto)."""
    def model(*graph, functions=()):
        return message((1, 10), (2, "seed"), (8, message((1, ""), (2, 21))), (7, message(*graph, (2, "g"))),
                       *((25, function) for function in functions))  # fmt: skip

    def tensor(name, kind, dims, *data):
        return message(*((1, extent) for extent in dims), (2, kind), (8, name), *data)

    def attribute(name, kind, *value):
        return message((1, name), (20, kind), *value)

    def node(op, inputs, outputs, *attributes):
        return message(*((1, name) for name in inputs), *((2, name) for name in outputs), (3, outputs[0]), (4, op),
                       *((5, each) for each in attributes))  # fmt: skip

    def value(name, kind, *dims):
        shape = message(*((1, message((1, extent) if isinstance(extent, int) else (2, extent))) for extent in dims))
        return message((1, name), (2, message((1, message((1, kind), (2, shape))))))

    weights = struct.pack("<6f", *range(6))
    yield "dense", model(
        (11, value("x", 1, "batch", 2)), (12, value("y", 1, "batch", 3)), (5, tensor("w", 1, [2, 3], (9, weights))),
        (5, tensor("b", 1, [3], (4, weights[:12]))), (1, node("Gemm", ["x", "w", "b"], ["h"], attribute("alpha", 1, (2, 1.5)))),
        (1, node("Clip", ["h", "", "m"], ["y"])))  # fmt: skip
    fields = [(16, 5, b"\x80\x7f"), (10, 5, b"\x80\x78"), (3, 5, varint(-1)), (9, 5, b"\1"), (22, 5, b"\x71"), (25, 5, b"\x39"),
              (27, 5, b"\x3f"), (17, 5, b"\x38"), (7, 7, varint(-5)), (11, 10, bytes(8)), (13, 11, b"\5"), (12, 11, b"\5"),
              (14, 4, bytes(8)), (15, 10, bytes(16)), (8, 6, b"text"), (6, 5, b"\7"), (23, 9, b"\1"), (9, 9, b"\2")]  # fmt: skip
    yield "types", model(*((5, tensor(f"t{i}", kind, [1], (field, data))) for i, (kind, field, data) in enumerate(fields)))
    branch = message((1, node("Constant", [], ["c"], attribute("value", 4, (5, tensor("", 1, [], (4, bytes(4))))))), (12, message((1, "c"))))
    yield "branches", model((1, node("If", ["p"], ["y"], attribute("then_branch", 5, (6, branch)), attribute("else_branch", 5, (6, branch)))))
    lists = [attribute("ints", 7, (8, 1), (8, -1)), attribute("floats", 6, (7, bytes(8))), attribute("strings", 8, (9, "a"), (9, "b")),
             attribute("tensors", 9, (10, tensor("", 7, [1], (7, b"\1")))), attribute("graphs", 10, (11, branch)),
             attribute("type", 13, (14, message((9, message((1, message((4, message((1, message((1, message((1, 1)))))))))))))),
             attribute("s", 3, (4, "bytes")), attribute("i", 2, (3, 7)), message((1, "old"), (2, 1.0))]  # fmt: skip
    yield "attributes", model((1, node("Op", ["x"], ["y"], *lists)))
    body = node("Elu", ["x"], ["y"], message((1, "alpha"), (20, 1), (21, "a")))
    function = message((1, "f"), (10, "d"), (4, "x"), (5, "y"), (6, "a"), (7, body), (9, message((2, 21))), (11, attribute("b", 2, (3, 1))))
    yield "functions", model((1, node("f", ["x"], ["y"])), functions=[function])
    sparse = message((1, tensor("s", 1, [2], (4, bytes(8)))), (2, tensor("", 7, [2], (7, b"\1\5"))), (3, 2), (3, 3))
    yield "sparse", model((15, sparse), (1, node("Constant", [], ["c"], attribute("sparse_value", 11, (22, sparse)))))
    keys = [(13, message((1, key), (2, text))) for key, text in [("location", "w"), ("offset", "8"), ("length", "24")]]
    yield "external", model((5, tensor("w", 1, [2, 3], (14, 1), *keys)))


def arrays():
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    yield "Npy", "float32", npy(rows)
    yield "Npy", "fortran", npy(np.asfortranarray(rows))
    yield "Npy", "big_endian", npy(rows.astype(">i4"))
    yield "Npy", "version3", npy(rows.astype(np.float16), (3, 0))
    yield "Npy", "scalar", npy(np.array(True))
    yield "Npy", "texts", npy(np.asfortranarray([["a", "bc"], ["d\u00e9", "\U0001f600"]]))
    yield "Npz", "texts", npz(False, x=np.array(["word", ""]))
    yield "Npz", "stored", npz(False, x0=rows, y0=np.arange(2, dtype=np.int64))
    yield "Npz", "deflated", npz(True, x0=np.zeros((4, 3)), sample_weight=np.ones(4))
    weights = safetensors({"a": {"dtype": "F32", "shape": [16], "data_offsets": [0, 64]}}, bytes(64))
    yield "Archive", "with_weights", archive(("libm.so", b"\x7fELF"), ("m.h", b""), ("m.json", b"{}"), ("m.safetensors", weights))
    yield "Archive", "embedded", archive(("notes.txt", b"mine"), ("m.json", b"{}"), ("libm.so", b"\x7fELF"))
    yield "Idx", "images", idx(8, [2, 2, 2], bytes(range(8)))
    yield "Idx", "floats", idx(13, [2], bytes(8))
    yield "Idx", "gzipped", gzip.compress(idx(8, [9], bytes(9)), mtime=0)
    yield "Csv", "numbers", b"x0,x1,y0\n1,2.5,0\n-3,nan,1\n"
    yield "Csv", "quoted", b'"a ""b""","c\nd"\r\n1e3,inf\r\n'
    json_only, with_binary = request()
    yield "Request", "json", b"\xff\xff\xff\xff" + json_only
    yield "Request", "binary", struct.pack("<I", len(with_binary)) + with_binary + bytes(12)
    yield "Safetensors", "two", safetensors(
        {"__metadata__": {"format": "mpc"},
         "a": {"dtype": "F32", "shape": [2, 8], "data_offsets": [0, 64]},
         "b/c": {"dtype": "BF16", "shape": [], "data_offsets": [64, 66]}}, bytes(66))  # fmt: skip
    yield "Safetensors", "empty", safetensors({}, b"")
    yield "Tables", "zeros", bytes(256)
    yield "Tables", "counting", bytes(range(256)) * 2
    for name, content in onnx_models():
        yield "Onnx", name, content
    yield "Manifest", "small", json.dumps({
        "name": "m", "outputs": [{"name": "out0", "alias": "probabilities"}],
        "layers": [{"path": "dense", "class": "Dense", "policy": "float32", "compute": "float32",
                    "variable": "float32"}]}).encode()  # fmt: skip
    yield "Manifest", "by_name", json.dumps({"layers": {"dense": {"policy": "float32"}, "b": "float16"}}).encode()
    yield "Tuning", "kernels", b'["0 8 changing onednn", "convolution 1 8 kept onednn"]'
    yield "Tuning", "whole", json.dumps({
        "mpc_tuning": 1, "model": {"model": "m", "source_hash": "0", "--policy": "", "policies of layers": ""},
        "cpu_kind": "zen3", "isa": "x86-64-v3", "threads": 1, "batch_size": 8, "kernels": []}).encode()  # fmt: skip
    yield "Policy", "name", b'"mixed_bfloat16"'
    yield "Policy", "short", b'{"default_policy": "mixed_bfloat16", "policy_map": {"head": "float32", "encoder/.*": "float16"}}'
    yield "Policy", "serialised", json.dumps({
        "module": "keras.src.dtype_policies", "class_name": "DTypePolicyMap",
        "config": {"default_policy": {"module": "keras", "class_name": "DTypePolicy",
                                      "config": {"name": "mixed_float16"}},
                   "policy_map": {"a(b|c)[d-f]{2,3}$": {"class_name": "QuantizedDTypePolicy", "config": {
                       "mode": "int8", "source_name": "float32"}}}}, "registered_name": None}).encode()  # fmt: skip


def read(path):
    with open(path, "rb") as handle:
        return handle.read()


def of_tools(binaries, work):
    def run(tool, *arguments):
        subprocess.run([os.path.join(binaries, tool), *arguments], check=True, cwd=work, stderr=subprocess.DEVNULL)

    with open(BLOBS, "rb") as handle:
        yield "Json", "blobs", handle.read()
    linear = os.path.join(os.path.dirname(binaries), "test/linear.mpc")
    draw = np.random.default_rng(1)
    np.savez(os.path.join(work, "d.npz"), x0=draw.normal(size=(100, 3)).astype(np.float32),
             y0=draw.integers(0, 4, 100).astype(np.int32))  # fmt: skip
    run("mpc-run", "train", linear, "--data", "d.npz", "--batch-size=8", "--epochs=2", "--seed=1", "--initialize=1",
        "--early-stop=monitor=loss,patience=1,restore_best_weights=true", "--reduce-lr=monitor=loss,patience=1",
        "--checkpoint=c")  # fmt: skip
    yield "Checkpoint", "trained", read(os.path.join(work, "c", sorted(os.listdir(os.path.join(work, "c")))[-1]))
    # By a name without a folder: IR has it in its locations.
    shutil.copy(BLOBS, os.path.join(work, "blobs.json"))
    run("mpcc", "blobs.json", "--compile-to=policy", "--initialize=1", "--name=b", "-o", "ir")
    yield "Ir", "policy", read(os.path.join(work, "ir/b.mlir"))
    run("mpc-opt", "ir/b.mlir", "--emit-bytecode", "-o", "b.mlirbc")
    yield "Bytecode", "policy", read(os.path.join(work, "b.mlirbc"))


def main():
    corpora = sys.argv[1]
    files = list(arrays())
    with tempfile.TemporaryDirectory() as work:
        if len(sys.argv) > 2:
            files += of_tools(os.path.abspath(sys.argv[2]), work)
    for target, name, content in files:
        folder = os.path.join(corpora, target + "Fuzzer")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), "wb") as handle:
            handle.write(content)


if __name__ == "__main__":
    main()
