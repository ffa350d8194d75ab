# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of TensorFlow's functions that models of Keras 2 may hold equals the importer's tables.

`tensorflow.py --write` writes docs/generated/tensorflow-functions.md of them. A graph operation whose
function no table has is an error, too.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
LEGACY = os.path.join(ROOT, "lib/Import/Keras/Legacy")
PAGE = os.path.join(ROOT, "docs/generated/tensorflow-functions.md")
TABLE = re.compile(r"constexpr (TensorFlowFunction|GraphOperation) \w+\[\] = \{(.*?)\n\};", re.S)
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
ENTRY = re.compile(r'\{\s*("(?:[^"\\]|\\.)*"\s*)+,\s*("(?:[^"\\]|\\.)*")?')


def entries(kind):
    """(names, second text) of each entry of the tables of a kind."""
    for name in sorted(os.listdir(LEGACY)):
        if not name.endswith(".cpp"):
            continue
        with open(os.path.join(LEGACY, name), encoding="utf-8") as file:
            for found, body in TABLE.findall(file.read()):
                if found != kind:
                    continue
                for entry in ENTRY.finditer(body):
                    texts = TEXT.findall(entry.group(0))
                    yield texts[0], texts[-1]


def page(functions, operations):
    named = sorted(name for name in functions if not name.startswith(("keras.", "compat.v1.")))
    keras = sorted(name for name in functions if name.startswith("keras."))
    return f"""# TensorFlow functions in models of Keras 2

Written by `test/Checks/tensorflow.py --write`; do not edit. What layers `TFOpLambda`, `SlicingOpLambda` and, by its name
in Python, `Lambda` may call, without `tf.`; names below `compat.v1` are read, too:

{", ".join(f"`{name}`" for name in named)}

{", ".join(f"`{name}`" for name in keras)}

What a `TensorFlowOpLayer` may hold:

{", ".join(f"`{name}`" for name in sorted(operations))}

Random functions draw in training; a prediction takes the mean of the distribution, and a warning says so. Keras 2 writes
no second operand of `==` and `!=`, and none of `tf.einsum`: such files are refused. Functions that give a number of
elements which depends on the data (`tf.boolean_mask`) are refused.
"""


def main():
    functions = {name for names, _ in entries("TensorFlowFunction") for name in names.split("|")}
    operations = {}
    for names, function in entries("GraphOperation"):
        operations.update(dict.fromkeys(names.split(), function))
    failures = [f"{name}: no table has the function {function}"
                for name, function in operations.items()
                if function not in functions
                and function.removeprefix("compat.v1.") not in functions]
    text = page(functions, operations)
    if "--write" in sys.argv[1:]:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)
    elif not os.path.exists(PAGE) or open(PAGE, encoding="utf-8").read() != text:
        failures.append("docs/generated/tensorflow-functions.md differs from the tables; run "
                        "test/Checks/tensorflow.py --write")
    for failure in failures:
        print(f"error: {failure}")
    print(f"ran {len(functions) + len(operations)} tests")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
