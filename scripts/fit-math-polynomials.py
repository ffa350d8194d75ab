# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fits the polynomials of lib/Conversion/ExpandMath: weighted minimax by Lawson's iteration
(C. L. Lawson 1961; J. R. Rice and K. H. Usow 1968) on Chebyshev nodes, coefficients rounded to
float32. Prints them with the largest relative error that they cause in the function's result.
The bound that counts is the one which the unit test measures on the generated code."""

import math

import numpy as np

NODES = 4000
ITERATIONS = 400


def fit(name, target, weight, low, high, degree):
    """Minimises max |weight * (polynomial - target)|; lowest power first."""
    nodes = (low + high) / 2 + (high - low) / 2 * np.cos(
        np.pi * (np.arange(NODES) + 0.5) / NODES
    )
    values = np.array([target(x) for x in nodes])
    weights = np.array([weight(x) for x in nodes])
    scaled = (2 * nodes - low - high) / (high - low)
    basis = np.polynomial.chebyshev.chebvander(scaled, degree)
    density = np.ones(NODES) / NODES
    for _ in range(ITERATIONS):
        root = np.sqrt(density) * weights
        solution = np.linalg.lstsq(basis * root[:, None], values * root, rcond=None)[0]
        error = np.abs((basis @ solution - values) * weights)
        density *= error
        density /= density.sum()
    series = np.polynomial.Chebyshev(solution, domain=[low, high])
    coefficients = series.convert(kind=np.polynomial.Polynomial).coef.astype(np.float32)
    rounded = np.polynomial.polynomial.polyval(nodes, coefficients.astype(np.float64))
    worst = np.max(np.abs((rounded - values) * weights))
    print(f"{name}: error 2^{math.log2(worst):.1f}")
    print("  " + ", ".join(f"{c:.9g}f" for c in coefficients))


def series(x, term):
    """Sums term(k) * x^k until it no longer changes: the targets cancel near 0."""
    total, k = 0.0, 0
    while True:
        step = term(k) * x**k
        if k > 3 and abs(step) < 1e-18:
            return total
        total += step
        k += 1


def log_tail(f):
    if abs(f) < 0.05:
        return series(f, lambda k: (-1) ** k / (k + 3))
    return (math.log1p(f) - f + f * f / 2) / f**3


def tanh_tail(z):
    x = math.sqrt(z)
    if x < 0.05:
        return -1 / 3 + z * (2 / 15 + z * (-17 / 315 + z * (62 / 2835 - z * 1382 / 155925)))
    return (math.tanh(x) - x) / x**3


def erf_tail(z):
    x = math.sqrt(z)
    return math.erf(x) / x - 1


def exp2_tail(f):
    return (2.0**f - 1) / f if abs(f) > 1e-6 else math.log(2)


LN2_2 = math.log(2) / 2 * 1.0001
# e^r = 1 + r + r^2 P(r)
fit("exp", lambda r: series(r, lambda k: 1 / math.factorial(k + 2)),
    lambda r: r * r / math.exp(r), -LN2_2, LN2_2, 5)
# log(1 + f) = f - f^2 / 2 + f^3 P(f)
fit("log", log_tail, lambda f: f**3 / math.log1p(f) if abs(f) > 1e-9 else f * f,
    math.sqrt(0.5) - 1, math.sqrt(2) - 1, 8)
# tanh(x) = x + x^3 P(x^2)
fit("tanh", tanh_tail, lambda z: z, 0.0, 0.625**2, 4)
# erf(x) = x + x P(x^2)
fit("erf", erf_tail, lambda z: math.sqrt(z) / math.erf(math.sqrt(z)), 1e-6, 1.0, 6)
# erf(-u) = 1 - 2^(u + u P(u)) for negative u
fit("erfc", lambda u: math.log2(math.erfc(-u)) / u - 1,
    lambda u: -u * math.log(2) * math.erfc(-u) / math.erf(-u), -4.0, -0.99, 5)
# 2^f = 1 + f P(f)
fit("exp2", exp2_tail, lambda f: f * 2.0**-f, -0.5001, 0.5001, 4)
