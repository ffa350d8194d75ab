#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the arguments of Keras's layers into test/Checks/keras-layers.json, of all versions that are given.

  pip download --no-deps keras==3.0.5 keras==3.15.1 …; test/Checks/layer_arguments.py keras-*.whl

Reads the sources in the wheels: the parameters of each constructor, of those of its bases that it hands
its keywords to, and what it takes out of the keywords. Then run test/Checks/layers.py --write.
"""

import ast
import json
import os
import re
import sys
import zipfile

from support_tables import ROOT, read

# Of every layer (keras/src/layers/layer.py): LayerArguments.cpp has them.
COMMON = {"name", "trainable", "dtype", "activity_regularizer", "autocast"}


class Constructor:
    def __init__(self, node):
        own = next((method for method in node.body if isinstance(method, ast.FunctionDef) and method.name == "__init__"), None)
        self.bases = [base.id if isinstance(base, ast.Name) else base.attr for base in node.bases if isinstance(base, (ast.Name, ast.Attribute))]
        self.names = set()
        if own:
            taken = re.findall(r"kwargs\.(?:pop|get)\(\s*[\"'](\w+)", ast.unparse(own))
            self.names = {argument.arg for argument in own.args.posonlyargs + own.args.args + own.args.kwonlyargs} - {"self"} | set(taken)
        self.asks_bases = not own or own.args.kwarg is not None


def constructors(wheel):
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"keras/src/layers/.*(?<!_test)\.py", name):
                found.update((node.name, Constructor(node)) for node in ast.walk(ast.parse(archive.read(name))) if isinstance(node, ast.ClassDef))
    return found


def arguments_of(name, found):
    if name not in found or name == "Layer":
        return set()
    constructor = found[name]
    inherited = [arguments_of(base, found) for base in constructor.bases] if constructor.asks_bases else []
    return constructor.names.union(*inherited)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    keras = json.loads(read("test", "Checks", "keras-layers.json"))
    wheels = [constructors(wheel) for wheel in sys.argv[1:]]
    names = {name for names in keras["layers"].values() for name in names} - {"InputSpec", "Layer", "Wrapper"}
    # Files name the class, not what it is exported as.
    names = names - {"GroupQueryAttention"} | {"GroupedQueryAttention"}
    every = {name: sorted(set().union(*(arguments_of(name, found) for found in wheels)) - COMMON) for name in sorted(names)}
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(arguments)}" for name, arguments in every.items())
    rest = json.dumps({key: value for key, value in keras.items() if key != "arguments"}, indent=1)
    with open(os.path.join(ROOT, "test", "Checks", "keras-layers.json"), "w") as handle:
        handle.write(rest[:-2] + ',\n "arguments": {\n' + rows + "\n }\n}\n")


if __name__ == "__main__":
    main()
