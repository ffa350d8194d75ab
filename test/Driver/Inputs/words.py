# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What words.txtpb makes of texts. words.py make FOLDER writes data, words.py check IN OUT looks at predictions."""

import os
import re
import sys

import numpy as np

WORDS = np.array([["red", "grün"], ["gr", ""], ["grün", "Red"], ["a b", "ü"]])

if sys.argv[1] == "make":
    for name, array in {
        "fits": WORDS,
        "wide": WORDS.astype("<U300"),
        "swapped": WORDS.astype(">U7"),
        "columns": np.asfortranarray(WORDS),
        "long": np.array([["a", "b"], ["c", "twelve signs"]]),
        "numbers": np.ones([4, 2], np.int32),
        "inside": np.array([["a", "b\0c"]]),
    }.items():
        np.savez(os.path.join(sys.argv[2], name + ".npz"), x=array)
else:
    words, made = np.load(sys.argv[2])["x"], np.load(sys.argv[3])
    joined = np.char.add(words, ["!", ""])
    labels = {"red": 3, "grün": 5}
    assert made["joined"].dtype.kind == "U" and np.array_equal(made["joined"], joined), made["joined"]
    assert np.array_equal(made["label"], [[labels.get(str(word), -1) for word in row] for row in words]), made["label"]
    assert np.array_equal(made["matches"], [[bool(re.fullmatch("[a-zü]+!?", str(word))) for word in row] for row in joined]), made["matches"]
    print("texts are as Python makes them")
