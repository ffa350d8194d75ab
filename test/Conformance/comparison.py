# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares arrays with what Keras computed, by the rules of the fixtures' README.

An array passes when every element satisfies |got - expected| <= atol + rtol * |expected|, with inf
and nan at the same places with the same sign. Integer and boolean arrays, dynamic_scale, and
everything whose rtol and atol are both 0 must be equal. Arrays without a tolerance are
information, not expectations.
"""

import numpy


class Mismatch:
    """One array that does not agree. `worst` is the largest error in units of its tolerance."""

    def __init__(self, array, reason, worst=float("inf")):
        self.array = array
        self.reason = reason
        self.worst = worst

    def __str__(self):
        return f"{self.array}: {self.reason}"


def compare_array(name, got, expected, tolerance):
    """Returns (mismatch or None, worst error in units of the tolerance)."""
    got = numpy.asarray(got)
    expected = numpy.asarray(expected)
    if got.shape != expected.shape:
        return Mismatch(name, f"shape {got.shape}, expected {expected.shape}"), float("inf")

    rtol, atol = tolerance["rtol"], tolerance["atol"]
    exact = (
        expected.dtype.kind in "iub"
        or name == "dynamic_scale"
        or (rtol == 0.0 and atol == 0.0)
    )
    if exact:
        return compare_exact(name, got, expected)

    got = got.astype(numpy.float64)
    expected = expected.astype(numpy.float64)
    got_finite, expected_finite = numpy.isfinite(got), numpy.isfinite(expected)
    if tolerance.get("nonfinite") == "any":
        wrong = got_finite != expected_finite
    else:
        same = (got == expected) | (numpy.isnan(got) & numpy.isnan(expected))
        wrong = ~(got_finite & expected_finite) & ~same
    if wrong.any():
        place = first_index(wrong)
        reason = f"{got[place]!r} at {list(place)}, expected {expected[place]!r}"
        return Mismatch(name, reason), float("inf")

    both = got_finite & expected_finite
    if not both.any():
        return None, 0.0
    error = numpy.zeros_like(got)
    numpy.abs(numpy.subtract(got, expected, where=both, out=error), where=both, out=error)
    allowed = atol + rtol * numpy.abs(expected, where=both, out=numpy.zeros_like(expected))
    ratio = numpy.divide(error, allowed, out=numpy.where(error > 0, numpy.inf, 0.0),
                         where=allowed > 0)
    place = numpy.unravel_index(int(numpy.argmax(ratio)), ratio.shape)
    worst = float(ratio[place])
    if worst <= 1.0:
        return None, worst
    reason = (
        f"{got[place]:.9g} at {list(map(int, place))}, expected {expected[place]:.9g} "
        f"within {float(allowed[place]):.3g} ({worst:.3g} times the tolerance, "
        f"{int((ratio > 1).sum())} of {ratio.size} elements)"
    )
    return Mismatch(name, reason, worst), worst


def compare_exact(name, got, expected):
    if got.dtype.kind == "f" and expected.dtype.kind == "f":
        equal = (got == expected) | (numpy.isnan(got) & numpy.isnan(expected))
    else:
        equal = got == expected
    if equal.all():
        return None, 0.0
    place = first_index(~equal)
    reason = f"{got[place]!r} at {list(place)}, must equal {expected[place]!r}"
    return Mismatch(name, reason), float("inf")


def first_index(mask):
    return tuple(int(index) for index in numpy.argwhere(mask)[0]) if mask.ndim else ()


def compare(got, expected, tolerances, unchecked=(), exclude=()):
    """Compares every expected array that has a tolerance.

    got, expected: mappings from array name to array. unchecked: names that Keras itself does not
    reproduce; exclude: names that the caller compares in another way.
    Returns (list of Mismatch, number of arrays compared, worst ratio).
    """
    mismatches, count, worst = [], 0, 0.0
    for name in sorted(tolerances):
        if name in unchecked or name in exclude or name not in expected:
            continue
        count += 1
        if name not in got:
            mismatches.append(Mismatch(name, "missing in the result"))
            continue
        mismatch, ratio = compare_array(name, got[name], expected[name], tolerances[name])
        worst = max(worst, ratio)
        if mismatch:
            mismatches.append(mismatch)
    if count == 0:
        mismatches.append(Mismatch("(case)", "nothing to compare: no array with a tolerance"))
    return mismatches, count, worst
