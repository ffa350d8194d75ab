# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""images.py DATA.npz [EXTENT...]: 192 random images, of 784 numbers unless told otherwise, with labels."""

import sys

import numpy

random = numpy.random.RandomState(3)
shape = [int(extent) for extent in sys.argv[2:]] or [784]
numpy.savez(sys.argv[1], x0=random.uniform(size=(192, *shape)).astype("float32"), y0=random.randint(0, 10, 192).astype("int32"))
