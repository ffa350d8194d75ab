#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc-run serve: every endpoint, every error, limits, batches, metrics and the end."""

import http.client
import json
import re
import signal
import socket
import subprocess
import threading
import time

import linear
import numpy

INFER = "/v2/models/linear/infer"


class Server:
    """The tool as a process; `port` is where it listens."""

    def __init__(self, model, *options):
        self.process = subprocess.Popen(
            [linear.TOOL, "serve", model, "--port=0", *options], stderr=subprocess.PIPE, text=True)  # fmt: skip
        self.said = []
        for line in self.process.stderr:
            self.said.append(line)
            if match := re.search(r"http://(\[[^]]*\]|[^:/]+):(\d+)/", line):
                self.host, self.port = match[1].strip("[]"), int(match[2])
                break
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr))
        self.reader.start()

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            connection.close()

    def raw(self, data, timeout=30):
        """All that the server says to these bytes until it closes."""
        with socket.create_connection((self.host, self.port), timeout=timeout) as connection:
            connection.sendall(data)
            said = b""
            while piece := connection.recv(65536):
                said += piece
            return said

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(60)
        self.reader.join()
        self.process.stderr.close()
        return code


class ServeTest(linear.ToolTest):
    options = ()

    def setUp(self):
        super().setUp()
        self.server = Server(self.model, *self.options)
        self.addCleanup(self.server.end)
        self.wanted = linear.Linear(self.kernel, self.bias).probabilities(self.x)

    def infer(self, body, status=200, headers=None):
        data = body if isinstance(body, (bytes, str)) else json.dumps(body)
        code, _, text = self.server.ask("POST", INFER, data, headers)
        self.assertEqual(code, status, text)
        return json.loads(text)

    def input(self, rows=slice(0, 2), **changes):
        x = self.x[rows]
        return {"name": "features", "shape": list(x.shape), "datatype": "FP32", "data": x.ravel().tolist(), **changes}

    def refuses(self, body, message, status=400, headers=None):
        reply = self.infer(body, status, headers)
        self.assertEqual(list(reply), ["error"])
        self.assertRegex(reply["error"], message)

    def metric(self, name):
        text = self.server.ask("GET", "/metrics")[2].decode()
        return float(re.search(rf"^{re.escape(name)}(?:\{{.*\}})? (\S+)$", text, re.M)[1])


class Endpoints(ServeTest):
    def test_state_and_metadata(self):
        for path, wanted in [
            ("/v2/health/live", {"live": True}),
            ("/v2/health/ready", {"ready": True}),
            ("/v2/models/linear/ready", {"ready": True}),
            ("/v2/models/linear/versions/1/ready", {"ready": True}),
        ]:
            code, headers, text = self.server.ask("GET", path)
            self.assertEqual((code, json.loads(text)), (200, wanted))
            self.assertEqual(headers["Content-Type"], "application/json")
        server = json.loads(self.server.ask("GET", "/v2")[2])
        self.assertEqual((server["name"], server["extensions"]), ("mpc-run", ["binary_tensor_data"]))
        model = json.loads(self.server.ask("GET", "/v2/models/linear")[2])
        self.assertEqual(model, {
            "name": "linear", "versions": ["1"], "platform": "mpc",
            "inputs": [{"name": "features", "datatype": "FP32", "shape": [-1, 3]}],
            "outputs": [{"name": "probabilities", "datatype": "FP32", "shape": [-1, 4]}]})  # fmt: skip

    def test_wrong_places_and_methods(self):
        for method, path, status in [
            ("GET", "/", 404), ("GET", "/v3", 404), ("GET", "/v2/models/other", 404),
            ("POST", "/v2/models/other/infer", 404), ("GET", "/v2/models/linear/versions/2", 404),
            ("GET", "/v2/models/linear/config", 404), ("GET", "/v2/models/linearly", 404),
            ("GET", INFER, 405), ("POST", "/v2", 405), ("DELETE", "/v2/models/linear", 405), ("PUT", "/metrics", 405),
        ]:  # fmt: skip
            code, headers, text = self.server.ask(method, path)
            self.assertEqual(code, status, path)
            self.assertIn("error", json.loads(text))
            self.assertEqual("Allow" in headers, status == 405)

    def test_json(self):
        for data in [self.x[:2].ravel().tolist(), self.x[:2].tolist()]:
            reply = self.infer({"id": "seven", "inputs": [self.input(data=data)]})
            self.assertEqual((reply["model_name"], reply["model_version"], reply["id"]), ("linear", "1", "seven"))
            (output,) = reply["outputs"]
            self.assertEqual((output["name"], output["datatype"], output["shape"]), ("probabilities", "FP32", [2, 4]))
            numpy.testing.assert_allclose(numpy.reshape(output["data"], (2, 4)), self.wanted[:2], rtol=1e-5)
        for name in ["probabilities", "out0"]:
            reply = self.infer({"inputs": [self.input(name="x0")], "outputs": [{"name": name}], "more": {"a": [{}]}})
            self.assertEqual(reply["outputs"][0]["name"], name)
            self.assertNotIn("id", reply)

    def test_equals_predict(self):
        self.run_tool("predict", self.model, "--inputs", self.data, "--outputs", self.path("out.npz"))
        reply = self.infer({"inputs": [self.input(slice(0, 20))]})
        got = numpy.array(reply["outputs"][0]["data"], numpy.float32).reshape(20, 4)
        numpy.testing.assert_array_equal(got, self.load("out.npz")["out0"])

    def test_other_datatypes_fit_a_float_input(self):
        for datatype, values in [("INT8", [1, -2, 3]), ("UINT64", [1, 2, 3]), ("FP64", [0.5, 1e-300, -3]),
                                 ("FP16", [0.5, 2, -3]), ("BF16", [0.5, 2, -3]), ("INT32", [1, -2, 3])]:  # fmt: skip
            reply = self.infer({"inputs": [self.input(datatype=datatype, shape=[1, 3], data=values)]})
            wanted = linear.Linear(self.kernel, self.bias).probabilities(numpy.array([values]))
            numpy.testing.assert_allclose([reply["outputs"][0]["data"]], wanted, rtol=1e-5)

    def test_binary(self):
        x = self.x[:3]
        head = {"inputs": [{"name": "features", "shape": [3, 3], "datatype": "FP32", "parameters": {"binary_data_size": 36}}]}
        for outputs in [{"parameters": {"binary_data_output": True}},
                        {"outputs": [{"name": "probabilities", "parameters": {"binary_data": True}}]}]:  # fmt: skip
            text = json.dumps({**head, **outputs}).encode()
            code, headers, body = self.server.ask("POST", INFER, text + x.tobytes(), {"Inference-Header-Content-Length": len(text)})
            self.assertEqual((code, headers["Content-Type"]), (200, "application/octet-stream"), body)
            length = int(headers["Inference-Header-Content-Length"])
            output = json.loads(body[:length])["outputs"][0]
            self.assertEqual(output["parameters"], {"binary_data_size": 48})
            numpy.testing.assert_allclose(numpy.frombuffer(body[length:], numpy.float32).reshape(3, 4), self.wanted[:3], rtol=1e-5)
        text = json.dumps(head).encode()
        reply = self.infer(text + x.tobytes(), headers={"Inference-Header-Content-Length": str(len(text))})
        numpy.testing.assert_allclose(numpy.reshape(reply["outputs"][0]["data"], (3, 4)), self.wanted[:3], rtol=1e-5)

    def test_values_that_json_has_not(self):
        x = numpy.array([[numpy.nan, 1, 1]], numpy.float32)
        text = json.dumps({"inputs": [{"name": "features", "shape": [1, 3], "datatype": "FP32",
                                       "parameters": {"binary_data_size": 12}}]}).encode()  # fmt: skip
        reply = self.infer(text + x.tobytes(), headers={"Inference-Header-Content-Length": str(len(text))})
        self.assertEqual(reply["outputs"][0]["data"], [None] * 4)

    def test_wrong_requests(self):
        for body, message in [
            ("", "is no JSON"), ("{", "is no JSON"), ("[]", "is an array"), ("7", "single value"), ('{"inputs": 3}', "'inputs' is no array"),
            ("{}", "no inputs"), ({"inputs": []}, "no inputs"), ({"inputs": [3]}, "objects only"),
            ({"inputs": [{}]}, "an input has no name"), ({"inputs": [self.input(), self.input()]}, "is there twice"),
            ('{"id": "a", "id": "b", "inputs": []}', "'id' twice"), ({"id": 7}, "'id' is no string"),
            ({"inputs": [self.input(name="other")]}, "none of this name"),
            ({"inputs": [self.input(datatype="FP8")]}, "has the datatype 'FP8'"),
            ({"inputs": [self.input(datatype="BYTES")]}, "has the datatype 'BYTES'"),
            ({"inputs": [self.input(shape=[2, 4])]}, r"has 6 elements in arrays of \[6\]; expected as many"),
            ({"inputs": [self.input(shape=[3, 2])]}, r"has shape \[3, 2\]"), ({"inputs": [self.input(shape=[6])]}, r"has shape \[6\]"),
            ({"inputs": [self.input(shape=[2, -3])]}, "shape is none"), ({"inputs": [self.input(shape=[1] * 9)]}, "shape is none"),
            ({"inputs": [self.input(shape=[2**40, 2**40])]}, "expected as many"), ({"inputs": [self.input(shape=[0, 3], data=[])]}, "has no rows"),
            ({"inputs": [self.input(data=[[1, 2], [3]])]}, "several lengths"), ({"inputs": [self.input(data=[1, [2]])]}, "mixes"),
            ({"inputs": [self.input(data=["a"])]}, "no number"), ({"inputs": [self.input(data=[None] * 6)]}, "no number"),
            ({"inputs": [self.input(data=[True] * 6)]}, "element 0 is true"), ({"inputs": [self.input(data={"a": 1})]}, "'data' is an object"),
            ('{"inputs": [{"name": "features", "shape": [1, 3], "datatype": "FP32", "data": [1e39, 0, 0]}]}', "float32 holds"),
            ('{"inputs": [{"name": "features", "shape": [1, 3], "datatype": "FP64", "data": [1e999, 0, 0]}]}', "beyond float64"),
            ({"inputs": [self.input(datatype="INT8", data=[200] * 6)]}, "element 0 is 200; expected a value that int8 holds"),
            ({"inputs": [self.input(datatype="INT8", data=[0.5] * 6)]}, "int8 holds"),
            ({"inputs": [self.input(datatype="UINT8", data=[-1] * 6)]}, "uint8 holds"),
            ({"inputs": [self.input(data=[[[[[[[[[1]]]]]]]]])]}, "nests deeper"), ('{"a": ' + "[" * 100 + "]" * 100 + "}", "nests deeper than"),
            ({"inputs": [self.input()], "outputs": [{"name": "other"}]}, "has: probabilities"),
            ({"inputs": [self.input()], "outputs": [{}]}, "output has no name"),
            ({"inputs": [self.input()], "outputs": [{"name": "out0", "parameters": {"classification": 3}}]}, "classification"),
            ({"inputs": [self.input(parameters={"shared_memory_region": "r"})]}, "shared memory"),
            ({"inputs": [self.input(parameters={"binary_data_size": 24})]}, "both data and"),
            ({"inputs": [self.input(parameters={"binary_data_size": "a"})]}, "no number of bytes"),
            ({"inputs": [self.input()], "parameters": {"sequence_id": 5}}, "keeps no state"),
            ({"inputs": [self.input(slice(0, 20), shape=[80, 3], data=[0] * 240)]}, "has 80 rows; expected 1 to 64"),
        ]:  # fmt: skip
            self.refuses(body, message)
        self.assertGreater(self.metric("mpc_inference_failures_total"), 30)
        self.refuses({"inputs": []}, "compressed", 415, {"Content-Encoding": "gzip"})

    def test_wrong_binaries(self):
        def ask(size, shape, data, message, length=None):
            text = json.dumps({"inputs": [{"name": "features", "shape": shape, "datatype": "FP32", "parameters": {"binary_data_size": size}}]}).encode()
            headers = {"Inference-Header-Content-Length": str(len(text) if length is None else length)}
            self.refuses(text + data, message, headers=headers)

        ask(24, [1, 3], b"x" * 24, "binary_data_size of 24; expected that of its shape")
        ask(12, [1, 3], b"x" * 11, "wants 12 binary bytes; the request has 11")
        ask(12, [1, 3], b"x" * 13, "1 bytes behind its last binary tensor")
        ask(2**63, [2**61], b"", "wants|expected")
        ask(12, [1, 3], b"x" * 12, "the body has", length=10**6)
        ask(12, [1, 3], b"x" * 12, "is no number", length="-1")
        ask(12, [1, 3], b"x" * 12, "is no number", length=2**70)
        ask(12, [1, 3], b"x" * 12, "no JSON", length=3)

    def test_no_http(self):
        self.assertIn(b"400 Bad Request", self.server.raw(b"HELLO\r\n\r\n"))
        self.assertIn(b"400 Bad Request", self.server.raw(b"POST /v2 HTTP/1.1\r\nContent-Length: -3\r\n\r\n"))
        self.assertIn(b"431 ", self.server.raw(b"GET /v2 HTTP/1.1\r\nA: " + b"x" * 20000 + b"\r\n\r\n"))
        self.assertIn(b"431 ", self.server.raw(b"GET /v2 HTTP/1.1\r\n" + b"A: x\r\n" * 5000 + b"\r\n"))
        self.assertIn(b"413 ", self.server.raw(b"GET /v2 HTTP/1.1\r\nContent-Length: 100000\r\n\r\n"))
        self.assertIn(b"413 ", self.server.raw(b"POST %s HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n" % INFER.encode()))
        head = self.server.raw(b"HEAD /v2 HTTP/1.1\r\nConnection: close\r\n\r\n")
        self.assertTrue(head.endswith(b"\r\n\r\n"), head)

    def test_keep_alive_pipelines_chunks_and_expectations(self):
        one = b"GET /v2 HTTP/1.1\r\n\r\n"
        self.assertEqual(self.server.raw(one * 3 + b"GET /v2 HTTP/1.1\r\nConnection: close\r\n\r\n").count(b"200 OK"), 4)
        body = json.dumps({"inputs": [self.input()]}).encode()
        chunked = b"POST %s HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" % INFER.encode()
        pieces = [body[i : i + 7] for i in range(0, len(body), 7)]
        chunked += b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        self.assertIn(b"200 OK", self.server.raw(chunked))
        with socket.create_connection((self.server.host, self.server.port), timeout=30) as connection:
            connection.sendall(b"POST %s HTTP/1.1\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n" % (INFER.encode(), len(body)))
            self.assertTrue(connection.recv(1000).startswith(b"HTTP/1.1 100 Continue\r\n"))
            connection.sendall(body)
            self.assertIn(b"200 OK", connection.recv(65536))

    def test_metrics(self):
        for _ in range(3):
            self.infer({"inputs": [self.input()]})
        self.assertEqual(self.metric("mpc_rows_total"), 6)
        self.assertEqual(self.metric("mpc_batch_rows_count"), 3)
        self.assertEqual(self.metric("mpc_request_duration_seconds_count"), 3)
        self.assertGreater(self.metric("process_resident_memory_bytes"), 1e6)
        code, headers, text = self.server.ask("GET", "/metrics")
        self.assertTrue(headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        for line in text.decode().splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) \w+ .+|\w+\{model="linear"[^}]*\} [0-9.e+-]+)$')


class Batches(ServeTest):
    options = ("--max-delay=200", "--contexts=1", "--batch-size=8", "--queue=4")

    def ask_together(self, count, rows):
        replies = []

        def ask(i):
            body = json.dumps({"inputs": [self.input(slice(i, i + rows))]})
            replies.append((i, *self.server.ask("POST", INFER, body)))

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return replies

    def test_requests_join_and_each_gets_its_own(self):
        for i, code, _, text in self.ask_together(4, 2):
            self.assertEqual(code, 200, text)
            got = numpy.reshape(json.loads(text)["outputs"][0]["data"], (2, 4))
            numpy.testing.assert_allclose(got, self.wanted[i : i + 2], rtol=1e-5)
        self.assertEqual(self.metric("mpc_rows_total"), 8)
        self.assertLess(self.metric("mpc_runs_total"), 4)

    def test_one_request_waits_no_longer_than_the_delay(self):
        start = time.monotonic()
        self.infer({"inputs": [self.input()]})
        self.assertGreater(time.monotonic() - start, 0.19)
        self.assertLess(time.monotonic() - start, 5)

    def test_full_queue(self):
        codes = [(code, headers) for _, code, headers, _ in self.ask_together(12, 1)]
        self.assertIn(503, [code for code, _ in codes])
        self.assertIn(200, [code for code, _ in codes])
        self.assertTrue(all(headers["Retry-After"] == "1" for code, headers in codes if code == 503))
        self.infer({"inputs": [self.input()]})


class Limits(ServeTest):
    options = ("--max-connections=3", "--idle-timeout=1", "--timeout=1", "--max-body=1")

    def connect(self):
        connection = socket.create_connection((self.server.host, self.server.port), timeout=30)
        self.addCleanup(connection.close)
        return connection

    def test_slow_clients_are_closed(self):
        for beginning in [b"", b"GET /v2 HT", b"POST %s HTTP/1.1\r\nContent-Length: 1000\r\n\r\nabc" % INFER.encode()]:
            connection = self.connect()
            connection.sendall(beginning)
            start = time.monotonic()
            closed = False
            while not closed and time.monotonic() - start < 10:
                time.sleep(0.2)  # a byte now and then helps nobody
                try:
                    if beginning:
                        connection.sendall(b"x")
                    connection.setblocking(False)
                    closed = connection.recv(1000) == b""
                except BlockingIOError:
                    pass
                except OSError:
                    closed = True
                connection.setblocking(True)
            self.assertTrue(closed, beginning)
            self.assertLess(time.monotonic() - start, 8)

    def test_one_connection_too_many(self):
        held = [self.connect() for _ in range(3)]
        for connection in held:
            connection.sendall(b"GET /v2/health/live HTTP/1.1\r\n\r\n")
            self.assertIn(b"200 OK", connection.recv(1000))
        self.assertIn(b"503 Service Unavailable", self.connect().recv(1000))
        for connection in held:
            connection.close()
        time.sleep(0.3)
        self.assertEqual(self.server.ask("GET", "/v2/health/live")[0], 200)
        self.assertEqual(self.metric("mpc_connections_refused_total"), 1)

    def test_large_bodies(self):
        code, _, text = self.server.ask("POST", INFER, b" " * (1 << 20) + b"{}")
        self.assertEqual(code, 413, text)


class Ends(ServeTest):
    options = ("--max-delay=1000",)

    def test_finishes_what_is_at_hand(self):
        idle = socket.create_connection((self.server.host, self.server.port))
        self.addCleanup(idle.close)
        replies = []
        body = json.dumps({"inputs": [self.input()]})
        thread = threading.Thread(target=lambda: replies.append(self.server.ask("POST", INFER, body)))
        thread.start()
        time.sleep(0.4)
        self.assertEqual(self.server.end(), 0)
        thread.join()
        self.assertEqual(replies[0][0], 200)
        self.assertEqual(replies[0][1]["Connection"], "close")

    def test_interrupt(self):
        self.assertEqual(self.server.end(signal.SIGINT), 0)


class Grace(ServeTest):
    options = ("--max-delay=60000", "--grace=0.2")

    def test_is_bounded(self):
        with socket.create_connection((self.server.host, self.server.port)) as connection:
            body = json.dumps({"inputs": [self.input()]}).encode()
            connection.sendall(b"POST %s HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (INFER.encode(), len(body)) + body)
            time.sleep(0.3)
            self.assertEqual(self.server.end(), 143)
        self.assertIn("left unanswered", "".join(self.server.said))


class Starting(linear.ToolTest):
    def test_usage(self):
        for option, message in [("--port=70000", "from 0 to 65535"), ("--max-delay=x", "max-delay"), ("--queue=0", "queue"),
                                ("--grace=-1", "grace"), ("--contexts=0", "contexts")]:  # fmt: skip
            self.fails("serve", self.model, option, message=message, code=2)
        self.fails("serve", self.path("absent"), message="absent")
        self.fails("serve", self.model, "--host=256.1.1.1", message="is no address of this machine")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.fails("serve", self.model, f"--port={port}", message=f"127.0.0.1:{port}: cannot be listened on")

    def test_other_addresses(self):
        for host, warns in [("0.0.0.0", True), ("127.0.0.1", False)]:
            server = Server(self.model, f"--host={host}")
            self.addCleanup(server.end)
            server.host = "127.0.0.1"
            self.assertEqual(server.ask("GET", "/v2/health/ready")[0], 200)
            self.assertEqual(server.end(), 0)
            self.assertEqual("other machines can connect" in "".join(server.said), warns)


if __name__ == "__main__":
    linear.main()
