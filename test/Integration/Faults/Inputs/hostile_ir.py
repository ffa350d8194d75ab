# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes IR that attacks its parser: hostile_ir.py KIND OUT."""

import sys

DEPTH = 60000


def nested(before, opening, inside, closing, after):
    return before + opening * DEPTH + inside + closing * DEPTH + after


def aliases(count, fan):
    lines = ["#a0 = [1 : i32]"]
    lines += [f"#a{i} = [{', '.join([f'#a{i - 1}'] * fan)}]" for i in range(1, count)]
    return "\n".join(lines) + f'\nmodule {{}} loc(fused<#a{count - 1}>["x"])\n'


KINDS = {
    "list": nested("module attributes {x = ", "[", "1", "]", "} {}\n"),
    "dictionary": nested("module attributes {x = ", "{x = ", "1", "}", "} {}\n"),
    "tuple": nested("func.func private @f(", "tuple<", "i1", ">", ")\n"),
    "location": nested("module {} loc(", "callsite(", '"a" at "b"', ' at "c")', ")\n"),
    "affine": nested("#m = affine_map<(d0) -> (", "(", "d0", ")", ")>\nmodule {}\n"),
    "minus": "#m = affine_map<(d0) -> (" + "-" * DEPTH + "d0)>\nmodule {}\n",
    "region": nested("", '"a.b"() ({', "", "}) : () -> ()\n", ""),
    "vector": nested("module attributes {x = dense<", "[", "1", "]", "> : tensor<1xi32>} {}\n"),
    "function": nested("func.func private @f(", "() -> (", "i1", ")", ")\n"),
    "unclosed": "module attributes {x = " + "[<({" * DEPTH,
    # Brackets in strings and comments nest nothing, and others behind them do.
    "hidden": 'module attributes {y = "]]]]\\"]]]", x = // ]]]]\n' + "[" * DEPTH + "]" * DEPTH + "} {}\n",
    "aliases": aliases(60, 4),
    "chain": aliases(40000, 1),
    "integer": "module attributes {x = " + "9" * 100000 + " : i32} {}\n",
    "hexadecimal": "module attributes {x = 0x" + "F" * 100000 + " : i32} {}\n",
    "float": "module attributes {x = 1" + "0" * 100000 + ".0 : f32} {}\n",
    # Without an alignment of its four first bytes.
    "resource": 'module attributes {x = dense_resource<r> : tensor<4xi8>} {}\n'
                '{-# dialect_resources: {builtin: {r: "0x0000000001020304"}} #-}\n',
}  # fmt: skip

with open(sys.argv[2], "w") as handle:
    handle.write(KINDS[sys.argv[1]])
