# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data, and a state with another loss scale: restored.py make|change|show FOLDER [SCALE]"""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
from tensor_files import read_safetensors, write_safetensors  # noqa: E402  pylint: disable=wrong-import-position

command, folder = sys.argv[1:3]


def scalar(arrays, name):
    (found,) = [key for key in arrays if key.endswith(name)]
    return found


if command == "make":
    np.savez(
        f"{folder}/data.npz", x=np.full((4, 4), 0.1, np.float32), y0=np.zeros((4, 3), np.float32)
    )
elif command == "change":
    state = read_safetensors(f"{folder}/saved.safetensors")
    state[scalar(state, "dynamic_scale")] = np.float32(sys.argv[3]).reshape(())
    write_safetensors(f"{folder}/changed.safetensors", state)
else:
    state = read_safetensors(f"{folder}/after.safetensors")
    scale, counter = (state[scalar(state, name)] for name in ("dynamic_scale", "step_counter"))
    print(f"scale {scale:g} counter {counter}")
