# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR of many residual blocks (long_picture.py make); and of its picture on standard input, whether the boxes fill its width."""

import re
import sys

TYPE = "tensor<?x8xf32>"


def make(blocks):
    lines, last = [f'module {{ func.func @forward(%x: {TYPE} {{mpc.input = "x"}}) -> {TYPE} {{'], "%x"
    for i in range(blocks):
        inner = last
        for layer in range(3):
            lines.append(f'%b{i}_{layer} = mpc.layer "relu_{i}_{layer}" kind "Activation" inputs({inner}) : ({TYPE}) -> {TYPE} '
                         f"{{ ^bb0(%a: {TYPE}): %r = mpc.relu %a : {TYPE} mpc.yield %r : {TYPE} }}")  # fmt: skip
            inner = f"%b{i}_{layer}"
        lines.append(f'%s{i} = mpc.layer "add_{i}" kind "Add" inputs({inner}, {last}) : ({TYPE}, {TYPE}) -> {TYPE} '
                     f"{{ ^bb0(%a: {TYPE}, %b: {TYPE}): %r = mpc.add %a, %b : {TYPE}, {TYPE} mpc.yield %r : {TYPE} }}")  # fmt: skip
        last = f"%s{i}"
    print("\n".join([*lines, f"return {last} : {TYPE} }} }}"]))


def check(text):
    width = float(re.search(r'<svg[^>]* width="(\d+)"', text)[1])
    boxes = [(float(x), float(w)) for x, w in re.findall(r'<rect x="([-\d.]+)" y="[-\d.]+" width="([\d.]+)" height="[\d.]+" rx="4"', text)]
    right = max(x + w for x, w in boxes)
    if len(boxes) < 30 or min(x for x, _ in boxes) > 60 or right + 120 < width:
        sys.exit(f"{len(boxes)} boxes from {min(x for x, _ in boxes)} to {right} in a picture {width} wide")


if sys.argv[1:] == ["make"]:
    make(12)
else:
    check(sys.stdin.read())
