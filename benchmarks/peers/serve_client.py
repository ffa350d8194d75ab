# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Connections that ask an inference server one after the other, without waiting between: one process with raw
sockets, so that what it costs is the same for each server. Usage: serve_client.py PORT CONNECTIONS SECONDS WIDTH
Prints {"rate", "p50", "p99", "errors", "values"}, times in ms; `values` are the last answer's first output."""

import json
import re
import selectors
import socket
import struct
import sys
import time

port, connections, seconds, width = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
row = struct.pack(f"<{width}f", *((i % 7 - 3) / 7 for i in range(width)))
head = json.dumps({
    "inputs": [{"name": "x", "shape": [1, width], "datatype": "FP32", "parameters": {"binary_data_size": len(row)}}],
    "outputs": [{"name": "out0", "parameters": {"binary_data": True}}]}).encode()  # fmt: skip
request = (b"POST /v2/models/net/infer HTTP/1.1\r\nHost: localhost\r\nInference-Header-Content-Length: %d\r\n"
           b"Content-Length: %d\r\n\r\n" % (len(head), len(head) + len(row))) + head + row  # fmt: skip
json_length = re.compile(rb"inference-header-content-length: *(\d+)", re.I)

selector = selectors.DefaultSelector()
latencies, errors, values = [], 0, []
for _ in range(connections):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    selector.register(connection, selectors.EVENT_READ, {"said": b"", "start": time.perf_counter()})
    connection.sendall(request)
begin = time.perf_counter()
end = begin + seconds
while time.perf_counter() < end:
    for key, _ in selector.select(timeout=1):
        connection, state = key.fileobj, key.data
        piece = connection.recv(65536)
        state["said"] += piece
        split = state["said"].find(b"\r\n\r\n")
        # The number that stands alone, not the one of the inference header.
        found = re.search(rb"\r\ncontent-length: *(\d+)", state["said"][:split], re.I) if split >= 0 else None
        if not piece:
            errors += 1
            selector.unregister(connection)
        elif found and len(state["said"]) >= split + 4 + int(found[1]):
            now = time.perf_counter()
            latencies.append(1000 * (now - state["start"]))
            if state["said"].startswith(b"HTTP/1.1 200"):
                body = state["said"][split + 4 :]
                raw = body[int(json_length.search(state["said"][:split])[1]) :]
                values = list(struct.unpack(f"<{len(raw) // 4}f", raw))
            else:
                errors += 1
            state["said"], state["start"] = b"", now
            connection.sendall(request)
took = time.perf_counter() - begin
latencies.sort()
print(json.dumps({"rate": len(latencies) / took, "p50": latencies[len(latencies) // 2], "p99": latencies[int(len(latencies) * 0.99)],
                  "errors": errors, "values": values}))  # fmt: skip
