# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""images.py DATA.npz: 192 random images of 784 numbers, with labels."""

import sys

import numpy

random = numpy.random.RandomState(3)
numpy.savez(sys.argv[1], x0=random.uniform(size=(192, 784)).astype("float32"), y0=random.randint(0, 10, 192).astype("int32"))
