# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs of a case beside those that ONNX expects."""

import numpy as np

# Types that the runtime has not, and what holds their numbers.
CARRIERS = {"int4": "int8", "int2": "int8", "uint4": "uint8", "uint2": "uint8", "float4_e2m1fn": "float32", "float6_e2m3fn": "float32",
            "float6_e3m2fn": "float32", "float8_e4m3fn": "float32", "float8_e4m3fnuz": "float32", "float8_e5m2": "float32",
            "float8_e5m2fnuz": "float32", "float8_e8m0fnu": "float32"}  # fmt: skip


def carrier(dtype):
    """The runtime's name of the type that holds numbers of this one of NumPy or ml_dtypes."""
    name = np.dtype(dtype).name
    return CARRIERS.get(name, name)


def _is_rounding(got, expected):
    """Whether numbers differ by two units of the last place of the largest at most: NumPy rounds partial sums of
    products in 16 bits, mpc rounds once, and of sums that cancel in float32 what is left is rounding."""
    bits = {"float16": 10, "bfloat16": 7, "float32": 23}.get(expected.dtype.name)
    if bits is None:
        return False
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isfinite(got), np.isfinite(expected)):
        return False
    finite = np.isfinite(expected)
    return bool(np.all(np.abs(got - expected)[finite] <= 2 * 2.0**-bits * np.max(np.abs(expected[finite]), initial=0)))


def _difference(got, expected, rtol, atol):
    """Text, or "" where the values agree: integers and truth values exactly."""
    if got.shape != expected.shape:
        return f"has the shape {list(got.shape)}; expected {list(expected.shape)}"
    if expected.dtype.kind in "biu" or carrier(expected.dtype).removeprefix("u").startswith("int"):
        same = got == expected.astype(got.dtype)
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


def _difference_of_texts(got, expected):
    if got.dtype.kind != "U" or got.shape != expected.shape:
        return f"is of {got.dtype} {list(got.shape)}; expected texts {list(expected.shape)}"
    return "" if np.array_equal(got, expected.astype(str)) else f"is {got.tolist()}; expected {expected.tolist()}"


def _tensors(outputs):
    """Each element of a sequence is an output of the library."""
    for name, value in outputs.items():
        if isinstance(value, list):
            yield from ((f"{name}_{i}", np.asarray(element)) for i, element in enumerate(value))
        else:
            yield name, value


def compare(case, outputs):
    """A status of run.py and a text."""
    rounded, wanted = "", list(_tensors(case.outputs))
    if len(outputs) != len(wanted):
        return "wrong", f"the library has {len(outputs)} outputs; expected {len(wanted)}"
    for got, (name, expected) in zip(outputs, wanted):
        if not isinstance(expected, np.ndarray):
            return "wrong", f"output {name}: is a tensor; expected is none"
        if expected.dtype.kind in "OU":
            fault = _difference_of_texts(got, expected)
            if fault:
                return "wrong", f"output {name}: {fault}"
            continue
        if got.dtype.name != carrier(expected.dtype):
            return "wrong", f"output {name}: is of {got.dtype.name}; expected {carrier(expected.dtype)}"
        if case.is_random and got.shape == expected.shape:
            continue
        fault = _difference(got, expected, case.rtol, case.atol)
        if fault and not _is_rounding(got, expected):
            return "wrong", f"output {name}: {fault}"
        rounded = rounded or fault
    width = "float32" if any(each.dtype == np.float32 for each in outputs) else "16-bit"
    return ("rounded", f"{width} results differ in the last place") if rounded else ("pass", "")
