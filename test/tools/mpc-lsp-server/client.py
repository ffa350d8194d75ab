# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The little of the Language Server Protocol 3.17 that the test needs, on the pipes of a server."""

import json
import subprocess


class Client:
    def __init__(self, tool):
        self.process = subprocess.Popen([tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.asked = 0
        self.diagnostics = {}  # the newest by URI
        self.versions = {}
        self.capabilities = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["capabilities"]
        self.tell("initialized", {})

    def send(self, **message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while (line := self.process.stdout.readline()) not in (b"\r\n", b""):
            name, value = line.split(b":")
            length = int(value) if name.lower() == b"content-length" else length
        if not length:
            raise EOFError(f"the server ended with {self.process.wait(60)}")
        message = json.loads(self.process.stdout.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        return message

    def ask(self, method, parameters):
        self.asked += 1
        self.send(id=self.asked, method=method, params=parameters)
        while (message := self.receive()).get("id") != self.asked:
            pass
        if "error" in message:
            raise RuntimeError(message["error"]["message"])
        return message["result"]

    def tell(self, method, parameters):
        self.send(method=method, params=parameters)

    def open(self, uri, text):
        self.versions[uri] = 1
        document = {"uri": uri, "languageId": "mlir", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return self.wait_for_diagnostics(uri)

    def change(self, uri, changes):
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.diagnostics.pop(uri, None)
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
        return self.wait_for_diagnostics(uri)

    def wait_for_diagnostics(self, uri):
        while uri not in self.diagnostics:
            self.receive()
        return [diagnostic["message"] for diagnostic in self.diagnostics[uri]]

    def at(self, method, uri, line, character, **more):
        place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
        return self.ask("textDocument/" + method, {**place, **more})

    def hover(self, uri, line, character):
        result = self.at("hover", uri, line, character)
        return result["contents"]["value"] if result else ""

    def close(self):
        """The exit status after a shutdown."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        self.process.stdin.close()
        return self.process.wait(60)
