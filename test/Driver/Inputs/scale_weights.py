# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scale_weights.py WEIGHTS IR FOLDER NAME=FACTOR …: a copy of both whose weights are multiplied."""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import tensor_files

weights, ir, folder, *factors = sys.argv[1:]
os.makedirs(folder)
arrays = dict(tensor_files.read_safetensors(weights))
for factor in factors:
    name, number = factor.split("=")
    arrays[name] = (arrays[name] * float(number)).astype("float32")
shutil.copy(ir, folder)
tensor_files.write_safetensors(os.path.join(folder, os.path.basename(weights)), arrays)
