# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes keras2_files/CASE as record_keras2.py does, of what Keras 2.2.4 beside TensorFlow 1.15 alone computes.

usage: python record_keras22.py [--folder FOLDER] [CASE…]
       (Python 3.7 with keras==2.2.4, tensorflow==1.15.5, h5py==2.10)
"""
import argparse
import json
import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy

L = keras.layers
random = numpy.random.RandomState(11)
HERE = os.path.dirname(os.path.abspath(__file__))


def normal(*shape):
    return random.normal(0, 1, shape).astype("float32")


def bilinear_of_version_1():
    """Elements have no centres."""
    x, y = L.Input((4, 5, 2), name="x"), L.Input((2, 3, 4), name="y")
    outputs = [L.UpSampling2D((2, 3), interpolation="bilinear")(x), L.UpSampling2D(2, data_format="channels_first", interpolation="bilinear")(y)]
    return keras.Model([x, y], outputs), [normal(2, 4, 5, 2), normal(2, 2, 3, 4)]


def hinge_of_labels_of_0_and_1():
    """They are taken as they are."""
    x = L.Input((4,), name="x")
    model = keras.Model(x, [L.Dense(3, name="a")(x), L.Dense(2, name="b")(x)])
    model.compile(keras.optimizers.SGD(0.1), ["hinge", "squared_hinge"])
    return model, [normal(6, 4)], [random.randint(0, 2, (6, 3)).astype("float32"), random.randint(0, 2, (6, 2)).astype("float32")]


def activities_of_whole_batches():
    """Regularizers of results are not divided by the batch."""
    x = L.Input((4,), name="x")
    h = L.Dense(2, activity_regularizer=keras.regularizers.l1_l2(0.01, 0.02))(x)
    model = keras.Model(x, L.ActivityRegularization(l2=0.03)(h))  # a gradient through a second kernel races with its update
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model, [normal(6, 4)], [normal(6, 2)]


def cosine_proximity():
    x = L.Input((4,), name="x")
    model = keras.Model(x, L.Dense(3)(x))
    model.compile(keras.optimizers.SGD(0.1), "cosine_proximity", metrics=["cosine_proximity", "mse"])
    return model, [normal(6, 4)], [normal(6, 3)]


def weights_of_0():
    """A mean is one of the samples whose weights are not 0."""
    x = L.Input((4,), name="x")
    model = keras.Model(x, L.Dense(3)(x))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model, [normal(6, 4)], [normal(6, 3)], numpy.array([1, 0, 2, 0, 0.5, 0], "float32")


def accuracy_beside_a_binary_cross_entropy():
    """It is the binary one, whatever the output's shape."""
    x = L.Input((4,), name="x")
    model = keras.Model(x, L.Dense(3, activation="sigmoid")(x))
    model.compile(keras.optimizers.SGD(0.1), "binary_crossentropy", metrics=["accuracy", "ce", "mae"])
    return model, [normal(6, 4)], [random.randint(0, 2, (6, 3)).astype("float32")]


CASES = (accuracy_beside_a_binary_cross_entropy, bilinear_of_version_1, hinge_of_labels_of_0_and_1, activities_of_whole_batches, cosine_proximity, weights_of_0)


def train(model, folder, inputs, targets, weights, meta):
    data = dict(zip(model.input_names, inputs))
    data.update({"y%d" % i: y for i, y in enumerate(targets)})
    if weights is not None:
        data["sample_weight"] = weights
    numpy.savez_compressed(os.path.join(folder, "data.npz"), **data)
    losses = []
    if model.metrics_names != ["loss"] and weights is None:
        values = model.evaluate(inputs, targets, batch_size=len(inputs[0]), verbose=0)
        meta.update(evaluated=dict(zip(model.metrics_names, map(float, values))), evaluated_batch=len(inputs[0]))
    for _ in range(4):
        loss = model.train_on_batch(inputs, targets, sample_weight=weights)
        losses.append(float(loss[0] if isinstance(loss, list) else loss))
    finals = {"final%d" % i: array for i, array in enumerate(model.get_weights())}
    numpy.savez_compressed(os.path.join(folder, "train.npz"), losses=numpy.asarray(losses, "float64"), **finals)
    meta.update(kind="train", steps=4, batch=len(inputs[0]), loss_tolerance=2e-4, final_names=[weight.name for weight in model.weights])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.path.join(HERE, "keras2_files"))
    parser.add_argument("case", nargs="*")
    arguments = parser.parse_args()
    for build in CASES:
        if arguments.case and build.__name__ not in arguments.case:
            continue
        keras.backend.clear_session()
        random.seed(11)
        model, inputs, *rest = build()
        folder = os.path.join(arguments.folder, build.__name__)
        os.makedirs(folder, exist_ok=True)
        outputs = model.predict(inputs)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        model.save(os.path.join(folder, "model.h5"))
        numpy.savez_compressed(os.path.join(folder, "x.npz"), **dict(zip(model.input_names, inputs)))
        numpy.savez_compressed(os.path.join(folder, "y.npz"), **{"out%d" % i: output for i, output in enumerate(outputs)})
        meta = {"keras": keras.__version__, "kind": "predict", "outputs": len(outputs), "tolerance": 2e-5}
        if rest:
            train(model, folder, inputs, rest[0], rest[1] if len(rest) > 1 else None, meta)
        with open(os.path.join(folder, "meta.json"), "w") as handle:
            json.dump(meta, handle, indent=1)
            handle.write("\n")


if __name__ == "__main__":
    main()
