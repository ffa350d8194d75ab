# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Serves a model and prints what it says to requests: serve_once.py LIB NAME BODY..."""

import http.client
import re
import subprocess
import sys

library, name, *bodies = sys.argv[1:]
server = subprocess.Popen(["mpc-run", "serve", library, "--port=0"], stderr=subprocess.PIPE, text=True)
port = next(int(match[1]) for line in server.stderr if (match := re.search(r"http://[^/]*:(\d+)/", line)))


def ask(*request):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(*request)
    print(connection.getresponse().read().decode())


ask("GET", f"/v2/models/{name}")
for body in bodies:
    ask("POST", f"/v2/models/{name}/infer", body)
server.terminate()
server.communicate(timeout=30)
