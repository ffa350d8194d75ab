# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records how Keras trains the models of keras_models.py: record_keras.py [CASE...] --out FOLDER

Writes for each case the graph that tf2onnx makes, with its weights, and NAME.json: the losses of twenty steps by SGD and
Adam. Needs tensorflow-cpu, keras, tf2onnx and onnx of PyPI (README.md).
"""

import os

import draws
import keras
import keras_models
import numpy as np
import onnx
import recording
import tensorflow as tf
import tf2onnx

STEPS = 20
# The bias of keys has no gradient but rounding, which Adam divides by its own size and epsilon.
OPTIMIZERS = {"sgd": ("SGD", {"learning_rate": 0.02, "momentum": 0.9}), "adam": ("Adam", {"learning_rate": 0.002, "epsilon": 1e-3})}
LOSSES = {"classes": lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True), "numbers": keras.losses.MeanSquaredError}


def make(case):
    """The model; no weight is 0, since tf2onnx leaves additions of zeros out."""
    model = keras_models.CASES[case][0]()
    for number, weight in enumerate(model.weights):
        weight.assign(draws.parameter(case, f"{number}.weight", list(weight.shape)))
    return model


def export(model, path):
    signature = [tf.TensorSpec([None, *each.shape[1:]], each.dtype, name=f"x{i}") for i, each in enumerate(model.inputs)]
    function = tf.function(lambda *given: model(list(given)), input_signature=signature)
    tf2onnx.convert.from_function(function, input_signature=signature, opset=15, output_path=path)
    return [each.name for each in onnx.load(path).graph.input]


def train(case, optimizer, arrays, target, kind):
    """Gradients of embeddings are dense, as on JAX: of sparse ones Keras's Adam on TensorFlow makes other steps."""
    model, loss_of = make(case), LOSSES[kind]()
    name, config = OPTIMIZERS[optimizer]
    update = getattr(keras.optimizers, name)(**config)
    losses = []
    for step in range(STEPS):
        rows = [(step * draws.BATCH + i) % draws.ROWS for i in range(draws.BATCH)]
        with tf.GradientTape() as tape:
            loss = loss_of(target[rows], model([array[rows] for array in arrays], training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        update.apply([tf.convert_to_tensor(each) for each in gradients], model.trainable_variables)
        losses.append(float(loss.numpy()))
    return {"object": {"class_name": name, "config": config}, "losses": losses}


def record(case, folder):
    _, described, (kind, shape, count) = keras_models.CASES[case]
    model = make(case)
    inputs = dict(zip(export(model, os.path.join(folder, case + ".onnx")), described))
    arrays, target = list(draws.inputs(case, inputs).values()), draws.target(case, kind, shape, count)
    return {
        "inputs": inputs,
        "target": {"kind": kind, "shape": shape, "count": count},
        "optimizers": {name: train(case, name, arrays, target, kind) for name in OPTIMIZERS},
    }


if __name__ == "__main__":
    recording.run(keras_models.CASES, record)
