#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of ONNX that the importer's tables have, and those that ONNX's own functions express by them.

`onnx_operations.py --write` writes docs/generated/onnx-operations.md of them; without it a stale page is an error.
Two rows of one operation for one opset are an error, too.
"""

import collections
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = "docs/generated/onnx-operations.md"
ROW = re.compile(r'\{"(\w+)",\s+(\d+)(?:,([^{}]*))?\}')
TEXTS = "Text"  # The family whose rows are of nodes that read text, beside those of numbers.


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def rows():
    """(family, operation, domain, opset from which the row holds) of every table."""
    for path in sorted(glob.glob(os.path.join(ROOT, "lib/Import/ONNX/Ops/*.cpp"))):
        family = os.path.basename(path)[: -len(".cpp")]
        text = read(path)
        if "constexpr OpEntry" not in text:
            continue
        for name, since, rest in ROW.findall(text[text.index("constexpr OpEntry") :]):
            domain = re.search(r'"([\w.]+)"', rest)
            # The importer makes forms of mpc's own domain; no file has them.
            if not domain or domain.group(1) != "mpc.form":
                yield family, name, domain.group(1) if domain else "", int(since)


def contributed():
    """Operations of onnxruntime's own that become those of ONNX before the tables are asked."""
    text = read("lib/Import/ONNX/Forms/Contributed.cpp")
    return re.findall(r'\{"(\w+)", ', text[text.index("constexpr Row kTable") :])


def page(families, functions):
    lines = [
        "# Operations of ONNX",
        "",
        "Written by `test/Checks/onnx_operations.py --write`; do not edit. The number is the first opset, where it is not 1.",
        "",
        "| family | operations |",
        "|---|---|",
    ]
    for family, operations in sorted(families.items()):
        cells = [f"`{name}`" + (f" {since}" if since > 1 else "") for name, since in sorted(operations.items())]
        lines.append(f"| {family} | {', '.join(cells)} |")
    lines += ["", "ONNX expresses these by others, and so does mpc where those are there:", ""]
    lines.append(", ".join(f"`{name}`" for name in sorted(functions)))
    lines += ["", "These of onnxruntime's domain `com.microsoft` become operations of ONNX:", ""]
    lines.append(", ".join(f"`{name}`" for name in sorted(contributed())))
    return "\n".join(lines) + "\n"


def main():
    families = collections.defaultdict(dict)
    known, failures = set(), []
    for family, name, domain, since in rows():
        row = (name, domain, since, family == TEXTS)
        if row in known:
            failures.append(f"{name}: has two rows for opset {since}")
        known.add(row)
        shown = f"{domain}.{name}" if domain else name
        families[family][shown] = min(since, families[family].get(shown, since))
    own = {name for name, *_ in known}
    functions = set(re.findall(r'^  function \{ name: "(\w+)"', read("lib/Import/ONNX/Functions/functions.txtpb"), re.M))
    text = page(families, functions - own)
    if "--write" in sys.argv[1:]:
        with open(os.path.join(ROOT, PAGE), "w", encoding="utf-8") as file:
            file.write(text)
    elif not os.path.exists(os.path.join(ROOT, PAGE)) or read(PAGE) != text:
        failures.append(f"{PAGE} differs from the tables; run test/Checks/onnx_operations.py --write")
    for failure in failures:
        print(f"error: {failure}")
    print(f"ran {len(known)} tests")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
