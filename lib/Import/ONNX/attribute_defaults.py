#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes AttributeDefaults.inc: attributes of ONNX's operations that have one default in all opsets, as the wheel `onnx`
says. A node that spells such a default out means what one without it means.

  attribute_defaults.py OUT     in a Python with onnx==1.23.2
"""

import collections
import json
import sys

import onnx

VERSION = "1.23.2"
HEAD = f"""// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Defaults of onnx {VERSION}; written by attribute_defaults.py, do not edit.
"""
MACROS = {"INT": "MPC_INTEGER", "FLOAT": "MPC_NUMBER", "STRING": "MPC_TEXT"}


def defaults():
    """The defaults of all versions, by operation and attribute; None among them where a version has none."""
    found = collections.defaultdict(set)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            for name, attribute in schema.attributes.items():
                default = attribute.default_value
                value = onnx.helper.get_attribute_value(default) if default.name else None
                found[schema.name, name].add((attribute.type.name, tuple(value) if isinstance(value, list) else value))
    return found


def spell(value):
    return json.dumps(value.decode()) if isinstance(value, bytes) else repr(value)


def main():
    if onnx.__version__ != VERSION:
        sys.exit(f"attribute_defaults.py: onnx is {onnx.__version__}; expected {VERSION}; pip install onnx=={VERSION}")
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(HEAD)
        for (op, name), values in sorted(defaults().items()):
            kind, value = next(iter(values))
            if len(values) == 1 and value is not None and kind in MACROS:
                file.write(f'{MACROS[kind]}("{op}", "{name}", {spell(value)})\n')


if __name__ == "__main__":
    main()
