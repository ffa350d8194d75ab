# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""models.py FIXTURES FOLDER [--search ROWS] KIND...: proved ranges of models that Keras made.

Each certificate of a model must be valid. With --search the model is compiled, and predicts so many
random rows within the ranges: no output may be outside of what was proved. Ends with the line
`ran N tests`."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy

LOW, HIGH = -2.0, 2.0
ROWS_AT_ONCE = 20000


def run(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {result.returncode}: {result.stdout[-2000:]}")
    return result.stdout


def random_rows(arguments, rows, random):
    """Numbers of each input: a third of them corners."""
    arrays = {}
    for type_text, name in arguments:
        extents = type_text.split("x")[:-1]
        shape = [rows] + [int(extent) for extent in extents[1:]]
        values = random.uniform(LOW, HIGH, shape)
        corners = random.choice([LOW, HIGH, 0.0], shape)
        arrays[name] = numpy.where(random.random(shape) < 0.33, corners, values).astype("float32")
    return arrays


def violations(certificate, outputs):
    for name, place in certificate["outputs"].items():
        if name.startswith("mask"):  # for losses: predictions have none
            continue
        claim, values = certificate["values"][place], outputs[name]
        low = -numpy.inf if claim["low"] is None else claim["low"]
        high = numpy.inf if claim["high"] is None else claim["high"]
        nan = numpy.isnan(values)
        outside = (values < low) | (values > high)
        if outside.any() or (nan.any() and not claim["nan"]):
            yield f"{name}: {values[outside | nan][:3]} of [{low}, {high}]"


def try_model(model, folder, rows):
    """How many outputs are bounded; an error where one leaves its bounds."""
    run("mpcc", str(model), "--name=net", "-q", "--mode=infer", "--compile-to=casts", "-o", str(folder))
    forward = next(line for line in (folder / "net.mlir").open() if "func.func @forward(" in line)
    arguments = re.findall(r'%arg\d+: tensor<([^>]*)> \{[^}]*?mpc.input = "([^"]+)"', forward.split(") -> ")[0])
    floats = [name for shape, name in arguments if shape.endswith("f32")]
    inputs = ",".join(f"{name}:{LOW}:{HIGH}" for name in floats)
    options = f"weights={folder}/net.safetensors certificate={folder}/c.json"
    if inputs:
        options = f"inputs={inputs} {options}"
    run("mpc-opt", f"{folder}/net.mlir", f"--mpc-analyze-ranges={options}", "-o", os.devnull)
    run("mpc-check-certificate", f"{folder}/c.json", f"{folder}/net.mlir")
    certificate = json.loads((folder / "c.json").read_text())
    places = certificate["outputs"].values()
    bounded = sum(certificate["values"][place]["low"] is not None for place in places)
    if rows:
        run("mpcc", str(model), "--name=net", "-q", "--mode=infer", "--march=native", "-o", str(folder))
        if len(floats) != len(arguments):  # ids have limits of their own
            return bounded, len(places)
        search(folder, certificate, arguments, rows)
    return bounded, len(places)


def search(folder, certificate, arguments, rows):
    random = numpy.random.default_rng(3)
    for begin in range(0, rows, ROWS_AT_ONCE):
        numpy.savez(folder / "in.npz", **random_rows(arguments, min(ROWS_AT_ONCE, rows - begin), random))
        run("mpc-run", "predict", str(folder), "--inputs", f"{folder}/in.npz", "--outputs", f"{folder}/out.npz")
        for violation in violations(certificate, dict(numpy.load(folder / "out.npz"))):
            raise RuntimeError(f"outside of what was proved: {violation}")


def main():
    arguments = sys.argv[1:]
    rows = 0
    if "--search" in arguments:
        at = arguments.index("--search")
        rows = int(arguments[at + 1])
        del arguments[at : at + 2]
    fixtures, out, *kinds = arguments
    wrong, ran, bounded, outputs = 0, 0, 0, 0
    folder = pathlib.Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for model in sorted(pathlib.Path(fixtures).glob("*/*/model.keras")):
        if kinds and model.parts[-3] not in kinds:
            continue
        ran += 1
        try:
            held, all_outputs = try_model(model, folder, rows)
            bounded, outputs = bounded + held, outputs + all_outputs
        except RuntimeError as error:
            wrong += 1
            print(f"{model}: {error}")
    print(f"{bounded} of {outputs} outputs are bounded")
    print(f"ran {ran} tests")
    return wrong != 0 or ran == 0


if __name__ == "__main__":
    sys.exit(main())
