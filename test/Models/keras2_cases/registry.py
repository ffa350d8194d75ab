# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases by name: the function that builds the model, and options (record_keras2.py, write)."""

import numpy

CASES = {}
_random = numpy.random.default_rng(11)


def case(**options):
    """The function gives the model, compiled where training is recorded, and its inputs; then may
    come targets, in place of random ones."""

    def register(build):
        CASES[build.__name__] = (build, options)
        return build

    return register


def restart_random():
    global _random
    _random = numpy.random.default_rng(11)


def random():
    return _random


def normal(*shape):
    return _random.normal(0, 1, shape).astype("float32")


def ids(limit, *shape):
    return _random.integers(0, limit, shape).astype("float32")


def flags(*shape):
    return _random.random(shape) > 0.4
