# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""safetensors files for the tests in Python: arrays by name."""

import json
import struct

import numpy


def write_safetensors(path, arrays):
    names = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64", "int32": "I32"}
    header, data = {}, b""
    for name, array in sorted(arrays.items()):
        bytes_ = numpy.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": names[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(bytes_)],
        }
        data += bytes_
    text = json.dumps(header).encode()
    with open(path, "wb") as handle:
        handle.write(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    types = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4"}
    with open(path, "rb") as handle:
        content = handle.read()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        arrays[name] = numpy.frombuffer(data[begin:end], types[entry["dtype"]]).reshape(
            entry["shape"]
        )
    return arrays
