#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc-lsp-server and a client that others wrote: pygls, which checks what it receives against the
protocol. Usage: language_client.py BIN, with a Python that has pygls; language-client.sh makes one."""

import asyncio
import os
import subprocess
import sys
import tempfile

from lsprotocol import types
from pygls.lsp.client import LanguageClient

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "..", "..", "examples", "c_predict", "blobs.json")


async def session(tools, path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    uri = "file://" + path
    lines = text.splitlines()
    client = LanguageClient("mpc", "1")
    published = asyncio.get_running_loop().create_future()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def diagnostics(parameters):  # pylint: disable=unused-variable
        if not published.done():
            published.set_result(parameters.diagnostics)

    await client.start_io(os.path.join(tools, "mpc-lsp-server"))
    await client.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities()))
    client.initialized(types.InitializedParams())
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "mlir", 1, text)))
    assert not await published, published
    document = types.TextDocumentIdentifier(uri)
    tests = 1

    def places(word):
        return [(number, line.index(word)) for number, line in enumerate(lines) if word in line]

    for number, column in places("= mpc.layer"):
        position = types.Position(number, column + 4)
        hover = await client.text_document_hover_async(types.HoverParams(document, position))
        path_of_layer = lines[number].split('"')[1]
        said = hover.contents.value
        assert said.startswith(f"Layer `{path_of_layer}`, a Dense: computes in `bf16`, variables in `f32`"), said
        tests += 1
    for number, column in places("mpc.yield %"):
        position = types.Position(number, column + len("mpc.yield %"))
        found = await client.text_document_definition_async(types.DefinitionParams(document, position))
        value = lines[number][column + len("mpc.yield ") :].split(" ")[0]
        place = found[0].range.start
        assert place.line < number and lines[place.line][place.character :].startswith(value), (number, found)
        tests += 1
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return tests


def main():
    tools = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        command = [os.path.join(tools, "mpcc"), MODEL, "-q", "--compile-to=policy", "--policy=mixed_bfloat16"]
        subprocess.run([*command, "-o", folder, "--name=blobs"], check=True)
        tests = asyncio.run(asyncio.wait_for(session(tools, os.path.join(folder, "blobs.mlir")), 120))
    print(f"ran {tests} tests")


if __name__ == "__main__":
    main()
