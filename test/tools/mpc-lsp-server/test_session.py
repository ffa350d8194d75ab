#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A session of an editor with mpc-lsp-server: hover, definitions, messages, changes, hostile texts.
Usage: test_session.py MPC-LSP-SERVER"""

import os
import subprocess
import sys

import client

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", ".."))
import named_tests  # noqa: E402  pylint: disable=wrong-import-position

TEXT = """\
module {
  mpc.variable @"dense/kernel" : tensor<8x4xf32> role trainable layer("dense")
  func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8x4xf32> {mpc.variable = @"dense/kernel"}) -> tensor<?x4xf32> {
    %y = mpc.layer "dense" kind "Dense" inputs(%x) variables(%w)
        {precision = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "option">}
        : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32> {
    ^bb0(%a: tensor<?x8xf32>, %k: tensor<8x4xf32>):
      %0 = mpc.contract %a, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
      mpc.yield %0 : tensor<?x4xf32>
    }
    return %y : tensor<?x4xf32>
  }
}
"""
AFTER_CASTS = """\
func.func @forward(%x: tensor<?x8xf32>) -> tensor<?x8xbf16> {
  %0 = mpc.cast %x : tensor<?x8xf32> to tensor<?x8xbf16> loc("block/dense")
  return %0 : tensor<?x8xbf16>
}
"""
URI = "file:///model.mlir"


def expect(condition, said):
    if not condition:
        raise AssertionError(said)


def expect_equal(got, wanted):
    expect(got == wanted, f"{got!r}, expected {wanted!r}")


class Suite:
    def __init__(self, tool):
        self.tool = tool

    def session(self, text):
        server = client.Client(self.tool)
        return server, server.open(URI, text)

    def test_hover_shows_layer_and_precision(self):
        server, messages = self.session(TEXT)
        expect_equal(messages, [])
        layer = server.hover(URI, 3, TEXT.splitlines()[3].index("mpc.layer") + 2)
        expect(layer.startswith("Layer `dense`, a Dense: computes in `bf16`, variables in `f32`, sums in `f32`, decided by"), layer)
        line = TEXT.splitlines()[7]
        inner = server.hover(URI, 7, line.index("mpc.contract") + 5)
        expect("Layer `dense`" in inner and "Reads `f32`" in inner and "Gives `f32`" in inner, inner)
        expect('"mpc.contract"' in inner, f"MLIR's own text is missing: {inner}")
        variable = server.hover(URI, 1, TEXT.splitlines()[1].index("mpc.variable"))
        expect(variable.startswith("Variable, stored in `f32`, role `trainable`, of layer `dense`"), variable)
        expect_equal(server.close(), 0)

    def test_hover_behind_the_casts(self):
        server, _ = self.session(AFTER_CASTS)
        for character in (2, AFTER_CASTS.splitlines()[1].index("mpc.cast")):  # the result, the op
            text = server.hover(URI, 1, character)
            expect("Layer `block/dense`\n" in text and "Reads `f32`" in text and "Gives `bf16`" in text, text)
        expect_equal(server.hover(URI, 3, 0), "")
        server.close()

    def test_definitions_and_uses(self):
        server, _ = self.session(TEXT)
        lines = TEXT.splitlines()
        found = server.at("definition", URI, 10, lines[10].index("%y"))
        expect_equal([place["range"]["start"] for place in found], [{"line": 3, "character": 4}])
        symbol = server.at("definition", URI, 2, lines[2].index('@"dense/kernel"') + 2)
        expect_equal([place["range"]["start"]["line"] for place in symbol], [1])
        uses = server.at("references", URI, 6, lines[6].index("%k"), context={"includeDeclaration": False})
        expect(7 in [place["range"]["start"]["line"] for place in uses], uses)
        server.close()

    def test_changes_are_followed(self):
        server, _ = self.session(TEXT)
        column = TEXT.splitlines()[4].index("bf16")
        place = {"start": {"line": 4, "character": column}, "end": {"line": 4, "character": column + 4}}
        expect_equal(server.change(URI, [{"range": place, "text": "f16"}]), [])
        expect("computes in `f16`" in server.hover(URI, 3, 11), "the old text")
        broken = server.change(URI, [{"text": "module {"}])
        expect(broken and "expected" in broken[0], broken)
        expect_equal(server.hover(URI, 0, 2), "")
        expect_equal(server.change(URI, [{"text": TEXT}]), [])
        server.close()

    def test_a_verifier_speaks(self):
        wrong = TEXT.replace("contracting [1] x [0]", "contracting [7] x [0]")
        server, messages = self.session(wrong)
        expect(messages, "no message")
        server.close()

    def test_hostile_texts_end_nothing(self):
        server, messages = self.session("module attributes {a = " + "[" * 100000 + "}")
        expect(len(messages) == 1 and "nest" in messages[0] and "256" in messages[0], messages)
        expect_equal(server.hover(URI, 0, 0), "")
        expect_equal(server.change(URI, [{"text": TEXT}]), [])
        expect("Layer `dense`" in server.hover(URI, 3, 11), "the server does not go on")
        expect_equal(server.close(), 0)

    def test_what_is_no_message(self):
        for bytes_ in (b"", b"Content-Length: 99999999999999999999\r\n\r\n{}", b"x" * 10000, b"Content-Length: 5\r\n\r\n{}"):
            done = subprocess.run([self.tool], input=bytes_, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=False)
            expect(done.returncode in (0, 1), f"{bytes_[:40]}: exit {done.returncode}")


if __name__ == "__main__":
    sys.exit(named_tests.run(named_tests.methods(Suite(sys.argv[1]))))
