# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model of lengths.txtpb in NumPy: lengths.py make T X.npz, or check X.npz Y.npz."""

import pathlib
import re
import sys

import numpy

TEXT = (pathlib.Path(__file__).parent / "lengths.txtpb").read_text()
WEIGHT = numpy.array(re.findall(r"float_data: (\S+)", TEXT), numpy.float32).reshape(3, 4)

if sys.argv[1] == "make":
    draw = numpy.random.default_rng(int(sys.argv[2]))
    numpy.savez(sys.argv[3], x=draw.normal(size=(5, int(sys.argv[2]), 3)).astype("f"), u=draw.normal(size=(5, 4)).astype("f"))
else:
    given, found = numpy.load(sys.argv[2]), numpy.load(sys.argv[3])
    numpy.testing.assert_allclose(found["y"], (given["x"] @ WEIGHT).mean(1) + given["u"], rtol=1e-5, atol=1e-6)
    numpy.testing.assert_array_equal(found["z"], 2 * given["x"])
    print("steps", given["x"].shape[1], "are as computed")
