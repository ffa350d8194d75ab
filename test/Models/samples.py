# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What record.py and run.py have in common."""
import numpy as np

KEPT = 256  # elements of a large array


def sample(array):
    """The array, or about KEPT of its elements in order, evenly spread."""
    flat = np.asarray(array).reshape(-1)
    return flat[:: max(1, flat.size // KEPT)]


def replace_once(data, old, new):
    assert len(old) == len(new) and data.count(old) == 1, old
    return data.replace(old, new)


def prepare_dgaintel(source, destination):
    """Dropout off, since masks of two programs cannot agree; and the argument time_major of
    TensorFlow 1's LSTM gone, which Keras 3 refuses. Both stand in a JSON text of the file, whose
    length does not change."""
    with open(source, "rb") as file:
        data = file.read()
    data = replace_once(data, b'"rate": 0.5', b'"rate": 0.0')
    old = b'"time_major": false, '
    data = replace_once(data, old, b" " * len(old))
    with open(destination, "wb") as file:
        file.write(data)
