# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints an int64 scalar of a safetensors file: read_scalar.py FILE NAME."""

import json
import struct
import sys

with open(sys.argv[1], "rb") as handle:
    data = handle.read()
(length,) = struct.unpack("<Q", data[:8])
entry = json.loads(data[8 : 8 + length])[sys.argv[2]]
assert entry["dtype"] == "I64" and entry["shape"] == [], entry
begin, end = entry["data_offsets"]
print(struct.unpack("<q", data[8 + length + begin : 8 + length + end])[0])
