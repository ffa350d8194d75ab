# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes keras2_files/CASE as record_keras2.py does, of what Keras 2.2.4 beside TensorFlow 1.15 alone computes.

usage: python record_keras22.py      (Python 3.7 with keras==2.2.4, tensorflow==1.15.5, h5py==2.10)
"""
import json
import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy

L = keras.layers
random = numpy.random.RandomState(11)


def bilinear_of_version_1():
    """Elements have no centres."""
    x, y = L.Input((4, 5, 2), name="x"), L.Input((2, 3, 4), name="y")
    outputs = [L.UpSampling2D((2, 3), interpolation="bilinear")(x), L.UpSampling2D(2, data_format="channels_first", interpolation="bilinear")(y)]
    return keras.Model([x, y], outputs), [random.normal(0, 1, (2, 4, 5, 2)).astype("float32"), random.normal(0, 1, (2, 2, 3, 4)).astype("float32")]


for build in (bilinear_of_version_1,):
    model, inputs = build()
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras2_files", build.__name__)
    os.makedirs(folder, exist_ok=True)
    outputs = model.predict(inputs)
    model.save(os.path.join(folder, "model.h5"))
    numpy.savez_compressed(os.path.join(folder, "x.npz"), **dict(zip(model.input_names, inputs)))
    numpy.savez_compressed(os.path.join(folder, "y.npz"), **{"out%d" % i: output for i, output in enumerate(outputs)})
    with open(os.path.join(folder, "meta.json"), "w") as handle:
        json.dump({"keras": keras.__version__, "kind": "predict", "outputs": len(outputs), "tolerance": 2e-5}, handle, indent=1)
        handle.write("\n")
