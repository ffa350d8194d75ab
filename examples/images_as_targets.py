#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The images of a folder of IDX files as inputs and as targets.

  images_as_targets.py FOLDER TRAIN.npz TEST.npz
"""

import gzip
import os
import sys

import numpy


def read(path):
    with gzip.open(path) as handle:
        images = numpy.frombuffer(handle.read(), numpy.uint8, offset=16).reshape(-1, 28, 28, 1)
    return images.astype(numpy.float32) / numpy.float32(255)


def main():
    folder, *outputs = sys.argv[1:]
    for part, output in zip(("train", "t10k"), outputs):
        images = read(os.path.join(folder, part + "-images-idx3-ubyte.gz"))
        numpy.savez(output + ".part.npz", x0=images, y0=images)
        os.rename(output + ".part.npz", output)


if __name__ == "__main__":
    main()
