#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of layers that a model may have, against what the importer has.

  test/Checks/layers.py           fails when docs/generated/layers.md is not what the sources say
  test/Checks/layers.py --write   writes it

Keras's layers are test/Checks/keras-layers.json, the classes of keras.layers; the importer's are the
families' tables in lib/Import/Keras/Layers and Hub, and what is built otherwise. The constructors' arguments
that are there, too (test/Checks/layer_arguments.py), become lib/Import/Keras/LayerArguments.inc;
those that Keras 2 alone has (keras2-layers.json) become lib/Import/Keras/Legacy/Arguments.inc.
"""

import glob
import json
import os
import re
import sys
import textwrap

from support_tables import ROOT, check, read, refused

SOURCES = os.path.join(ROOT, "lib", "Import", "Keras")
# Imported without an entry in a table: in these files, under these names.
OTHERWISE = {"UnsupportedLayers.cpp": ["InputLayer"], "RecurrentCells.cpp": ["GRUCell", "LSTMCell", "SimpleRNNCell", "StackedRNNCells"]}
# No layers of a model by themselves.
BASES = {"InputSpec", "Layer", "Wrapper"}
REASONS = [
    ("strings and hashes", r"StringLookup|TextVectorization|Hashing|HashedCrossing"),
    ("Python code", r"Lambda"),
    ("boxes beside images", r"MaxNumBoundingBoxes"),
]  # fmt: skip
# Names in files where Keras exports the class under another one.
CLASSES = {"GroupedQueryAttention"}
NOTES = {"CategoryEncoding": "without `count_weights`", "RandomCrop": "predicts only where images have another size"}


def imported():
    """Names by family, and those of which only inference is supported."""
    keras, hub, applications, inference = set(), set(), set(), set()
    for path in glob.glob(os.path.join(SOURCES, "Layers", "*.cpp")) + glob.glob(os.path.join(SOURCES, "Hub", "*.cpp")):
        for family, table in re.findall(r"constexpr LayerEntry k(\w+)\[\] = \{(.*?)\};\n", read(path), re.S):
            names = set(re.findall(r'(?:\{|\w+\(\s*)"(\w+)"', table)) - CLASSES
            (hub if family.startswith("Hub") else applications if family.startswith("Application") else keras).update(names)
            inference.update(re.findall(r'inferenceOnly\("(\w+)"\)', table))
    for name, classes in OTHERWISE.items():
        text = read(os.path.join(SOURCES, name))
        keras.update(found for found in classes if f'"{found}"' in text)
    return keras, hub, applications, inference


def make_table(keras, known, hub, applications, inference):
    lines = ["<!-- Written by test/Checks/layers.py --write; do not edit. -->", "",
             f"Layers of `keras.layers` (Keras {keras['keras']}) by the folders of Keras's sources. What mpc does not have is refused with the layer's path in the model; "
             "some arguments of others are refused, too. [How many cases of real Keras pass](support.md) with a layer under each policy; [operations](operations.md) of `keras.ops`.", "",
             "| folder | imported | predicts only | refused |", "|---|---|---|---|"]  # fmt: skip
    count = total = 0
    for module, names in keras["layers"].items():
        names = [name for name in names if name not in BASES]
        if not names:
            continue
        total += len(names)
        here = [name for name in names if name in known]
        count += len(here)
        trained = [name + (f" ({NOTES[name]})" if name in NOTES else "") for name in here if name not in inference]
        lines.append(f"| {module} | {', '.join(trained)} | {', '.join(name for name in here if name in inference)} | {refused(names, known, REASONS)} |")
    lines += ["", f"{count} of {total}.", "",
              f"Of KerasHub ([its page](../keras-hub.md)): {', '.join(sorted(hub))}, ReversibleEmbedding. Of `keras.applications`: {', '.join(sorted(applications))}. "
              "Models inside a model, Functional and Sequential, are layers, too. Refused: layers of other frameworks (FlaxLayer, JaxLayer, TFSMLayer, TorchModuleWrapper).", ""]  # fmt: skip
    return "\n".join(lines)


def make_arguments(arguments):
    """The rows of the table in LayerArguments.cpp, none longer than a line may be."""
    lines = ["// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception", "// Written by test/Checks/layers.py --write; do not edit."]
    for name, names in sorted(arguments.items()):
        lines.append(f'{{"{name}",')
        parts = textwrap.wrap(" ".join(names), 90) or [""]
        lines += [f' "{part}{" " if part is not parts[-1] else ""}"' for part in parts]
        lines[-1] += "},"
    return "\n".join(lines) + "\n"


def check_arguments(keras):
    """Writes the rows with --write; what is wrong with them."""
    folder = os.path.join("lib", "Import", "Keras")
    older = json.loads(read("test", "Checks", "keras2-layers.json"))["arguments"]
    idle = {name: [f"{argument}={json.dumps(value)}".replace('"', "") for argument, value in sorted(values.items())] for name, values in older.items()}
    stale = []
    for path, rows in ((os.path.join(folder, "LayerArguments.inc"), make_arguments(keras["arguments"])),
                       (os.path.join(folder, "Legacy", "Arguments.inc"), make_arguments(idle))):  # fmt: skip
        if "--write" in sys.argv[1:]:
            with open(os.path.join(ROOT, path), "w") as handle:
                handle.write(rows)
        if not os.path.exists(os.path.join(ROOT, path)) or read(path) != rows:
            stale.append(f"{path}: is stale; run test/Checks/layers.py --write")
    return stale


def main():
    keras = json.loads(read("test", "Checks", "keras-layers.json"))
    known, hub, applications, inference = imported()
    stale = check_arguments(keras)
    print("\n".join(stale), end="\n" if stale else "")
    return check("layer", keras, known, make_table(keras, known, hub, applications, inference)) or (1 if stale else 0)


if __name__ == "__main__":
    sys.exit(main())
