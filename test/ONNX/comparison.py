# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of a case as mpc-run takes them, and its outputs beside those that ONNX expects."""

import numpy as np


class Unfit(Exception):
    """A case that no file of arrays can feed."""


def _spelled(dtype):
    """NumPy's and ml_dtypes' names are mpc's."""
    return np.dtype(dtype).name


def write_inputs(path, inputs, manifest):
    """npz, in which a type that NumPy does not have is float32."""
    arrays = {}
    known = {each["name"] for each in manifest["inputs"]}
    for name, value in inputs.items():
        if name not in known:
            continue
        if not isinstance(value, np.ndarray):
            raise Unfit(f"the input {name} is no tensor, and mpcc compiled it")
        arrays[name] = value if value.dtype.kind in "biuf" and value.dtype.isbuiltin == 1 else value.astype(np.float32)
    np.savez(path, **arrays)


def _difference(got, expected, rtol, atol):
    """Text, or "" where the values agree: integers and truth values exactly."""
    if got.shape != expected.shape:
        return f"has the shape {list(got.shape)}; expected {list(expected.shape)}"
    if expected.dtype.kind in "biu":
        same = got == expected
    else:
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        got, expected = got.astype(wide), expected.astype(wide)
        with np.errstate(invalid="ignore", over="ignore"):
            same = np.isclose(got, expected, rtol=rtol, atol=atol, equal_nan=True)
    if np.all(same):
        return ""
    index = tuple(int(i) for i in np.argwhere(np.atleast_1d(~same))[0])
    first = [np.atleast_1d(each)[index] for each in (got, expected)]
    return f"differs in {int(np.sum(~same))} of {same.size} elements, first at {list(index)}: {first[0]} instead of {first[1]}"


def compare(case, manifest, path):
    """Text of the first fault, or ""."""
    described = manifest["outputs"]
    if len(described) != len(case.outputs):
        return f"the library has {len(described)} outputs; expected {len(case.outputs)}"
    with np.load(path) as got:
        for i, (name, expected) in enumerate(case.outputs.items()):
            if not isinstance(expected, np.ndarray):
                return f"output {name}: is a tensor; expected is none"
            dtype = described[i]["dtype"]
            if dtype != _spelled(expected.dtype):
                return f"output {name}: is of {dtype}; expected {_spelled(expected.dtype)}"
            stored = expected if expected.dtype.isbuiltin == 1 else expected.astype(np.float32)
            fault = _difference(got[f"out{i}"], stored, case.rtol, case.atol)
            if fault:
                return f"output {name}: {fault}"
    return ""
