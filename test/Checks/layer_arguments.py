#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the arguments of Keras's layers into test/Checks/keras-layers.json, of all versions that are given.

  pip download --no-deps keras==3.0.5 keras==3.15.1 …; test/Checks/layer_arguments.py keras-*.whl
  pip download --no-deps keras==2.2.4 … tf_keras==2.16.0; test/Checks/layer_arguments.py --keras2 *.whl

Reads the sources in the wheels: the parameters of each constructor, of those of its bases that it hands
its keywords to, and what it takes out of the keywords. With --keras2 it writes keras2-layers.json: what
these classes of Keras 2 have, or write into their configs, and Keras 3 does not, with the value that
changes nothing. Then run test/Checks/layers.py --write.
"""

import ast
import json
import os
import re
import sys
import zipfile

from support_tables import ROOT, read

# Every layer has these (keras/src/layers/layer.py); LayerArguments.cpp reads them.
COMMON = {"name", "trainable", "dtype", "activity_regularizer", "autocast"}
# Every layer of Keras 2 has these, or none does: keys of objects inside configs.
COMMON_2 = COMMON | {"batch_input_shape", "batch_size", "class_name", "config", "dynamic", "input_shape", "ragged", "sparse", "weights"}
ANY = "any"  # the value does not matter
# Without effect on results: how Keras computes, where random numbers come from, what was known of shapes.
EFFECTLESS = {"enable_caching_device", "force_generator", "implementation", "input_dim", "input_length", "num_constants", "rate", "rng_type",
              "query_shape", "key_shape", "value_shape", "has_static_table", "filters", "fused"}  # fmt: skip


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


def literal(node):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def classes_of_keras2(wheel):
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"(tf_)?keras/(src/)?(layers|engine|legacy)/.*(?<!_test)\.py", name):
                for node in ast.walk(ast.parse(archive.read(name))):
                    if isinstance(node, ast.ClassDef):
                        found.setdefault(node.name, node)
    return found


def arguments_of_keras2(name, found):
    """Arguments to their defaults, None where there is none, of a class and its bases; keys of configs are arguments, too."""
    if name not in found or name in ("Layer", "Wrapper", "Model"):
        return {}
    node, result = found[name], {}
    for base in Constructor(node).bases:
        result.update((key, value) for key, value in arguments_of_keras2(base, found).items() if key not in result)
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            given = method.args.posonlyargs + method.args.args
            defaults = [None] * (len(given) - len(method.args.defaults)) + method.args.defaults
            pairs = list(zip(given, defaults)) + list(zip(method.args.kwonlyargs, method.args.kw_defaults))
            result.update((argument.arg, literal(default)) for argument, default in pairs if argument.arg != "self")
        elif isinstance(method, ast.FunctionDef) and method.name == "get_config":
            keys = [key for part in ast.walk(method) if isinstance(part, ast.Dict) for key in part.keys]
            keys += [part.targets[0].slice for part in ast.walk(method) if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript)]
            for key in keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    result.setdefault(key.value, None)
    return result


def write_keras2(paths, today):
    """Of each class the arguments that Keras 3 does not have: their idle value, or "any"."""
    rows = {}
    for path in paths:
        found = classes_of_keras2(path)
        for name in today:
            for argument, default in arguments_of_keras2(name, found).items():
                if argument in today[name] or argument in COMMON_2:
                    continue
                idle = ANY if argument in EFFECTLESS or argument.endswith("_initializer") else default
                if argument == "data_format":
                    idle = "channels_last"  # of layers with steps; some bases write it
                rows.setdefault(name, {})[argument] = idle
    versions = sorted(re.search(r"-([0-9.]+)-py", path).group(1) for path in paths)
    text = ",\n".join(f"  {json.dumps(name)}: {json.dumps(rows[name], sort_keys=True)}" for name in sorted(rows))
    with open(os.path.join(ROOT, "test", "Checks", "keras2-layers.json"), "w") as handle:
        handle.write(f'{{\n "versions": {json.dumps(versions)},\n "arguments": {{\n{text}\n }}\n}}\n')


def main():
    if sys.argv[1:2] == ["--keras2"]:
        return write_keras2(sys.argv[2:], json.loads(read("test", "Checks", "keras-layers.json"))["arguments"])
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
