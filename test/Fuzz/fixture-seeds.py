#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of the fixtures and of other tests as the first inputs of fuzz targets; they stay where they
are, outside of the repository's corpora. Usage: fixture-seeds.py FIXTURES SEEDS"""

import glob
import os
import shutil
import sys
import zipfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def files(fixtures):
    """Target, and the file or its bytes."""
    for number, path in enumerate(sorted(glob.glob(fixtures + "/keras/*/*__mixed_float16/model.keras"))):
        with zipfile.ZipFile(path) as archive:
            yield "Json", archive.read("config.json")
        if number % 8 == 0:
            yield "Keras", path
    for path in sorted(glob.glob(TESTS + "/Import/Keras/Inputs/*.json")):
        yield "Json", path
    for pattern in [fixtures + "/keras/forward/*/model.h5", TESTS + "/Integration/KerasFiles/Inputs/*.h5"]:
        for path in sorted(glob.glob(pattern)):
            yield "Hdf5", path


def main():
    fixtures, seeds = sys.argv[1:]
    for number, (target, content) in enumerate(files(fixtures)):
        folder = os.path.join(seeds, target + "Fuzzer")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, str(number))
        if isinstance(content, str):
            shutil.copy(content, path)
        else:
            with open(path, "wb") as handle:
                handle.write(content)


if __name__ == "__main__":
    main()
