# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of mpc-run tune for tune.test: with other choices, compared with what runs, damaged."""

import json
import re
import sys


def read(path):
    with open(path) as handle:
        return json.load(handle)


def write(path, content):
    with open(path, "w") as handle:
        json.dump(content, handle)


def flip(source, target):
    """Every second product by oneDNN, which computes all of them."""
    content = read(source)
    content["kernels"] = [
        re.sub(r"\S+$", "onednn", line) if i % 2 else line for i, line in enumerate(content["kernels"])
    ]
    write(target, content)


def compare(source, kernels):
    """As many products as were measured say so."""
    with open(kernels) as handle:
        said = handle.read().count("measured by --tune")
    chosen = len(read(source)["kernels"])
    if said != chosen:
        sys.exit(f"{chosen} choices, {said} of them followed")


def damage(source, folder):
    good = read(source)
    write(f"{folder}/version.json", {**good, "mpc_tuning": 2})
    write(f"{folder}/lines.json", {**good, "kernels": ["1 2 often onednn"]})
    write(f"{folder}/kernel.json", {**good, "kernels": ["1 2 kept nobody"]})


{"flip": flip, "compare": compare, "damage": damage}[sys.argv[1]](*sys.argv[2:])
