# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models and data for jobs of several ranks: what sums over a batch in many ways."""
import json

import numpy


def layer(kind, **config):
    return {"class_name": kind, "config": config}


def sequential(name, shape, dtype, *layers):
    first = layer("InputLayer", batch_shape=[None, *shape], dtype=dtype, name="x")
    return {"class_name": "Sequential", "config": {"name": name, "layers": [first, *layers]}}


def regularizer(kind, **config):
    return {"module": "keras.regularizers", "class_name": kind, "config": config}


SOFTMAX = layer("Dense", name="out", units=3, activation="softmax")

MODELS = {
    "mlp": sequential("mlp", [20], "float32",
                      layer("Dense", name="d0", units=32, activation="relu"),
                      layer("Dense", name="d1", units=32, activation="gelu"), SOFTMAX),
    "cnn": sequential("cnn", [8, 8, 3], "float32",
                      # Without a bias, whose gradient BatchNormalization makes nothing but noise.
                      layer("Conv2D", name="c0", filters=8, kernel_size=[3, 3], padding="same",
                            use_bias=False),
                      layer("BatchNormalization", name="bn", axis=-1),
                      layer("Activation", name="a", activation="relu"),
                      layer("MaxPooling2D", name="p", pool_size=[2, 2]),
                      layer("Flatten", name="f"), SOFTMAX),
    "lstm": sequential("lstm", [7], "int32",
                       layer("Embedding", name="e", input_dim=30, output_dim=8, mask_zero=True),
                       layer("LSTM", name="l", units=12), SOFTMAX),
    "recurrent_dropout": sequential("recurrent_dropout", [5, 6], "float32",
                                    layer("GRU", name="g", units=8, dropout=0.2,
                                          recurrent_dropout=0.3), SOFTMAX),
    "dropout": sequential("dropout", [20], "float32",
                          layer("Dropout", name="drop", rate=0.4),
                          layer("Dense", name="d0", units=32, activation="tanh"),
                          layer("GaussianNoise", name="noise", stddev=0.1), SOFTMAX),
    # Variables large enough to be in parts, of sizes that no number of ranks divides.
    "wide": sequential("wide", [20], "float32",
                       layer("Dense", name="d0", units=1501, activation="relu"),
                       layer("Dense", name="d1", units=97, activation="gelu"), SOFTMAX),
    # A loss gets terms of the weights, and of what a layer gives for each row of the batch.
    "regularized": sequential("regularized", [20], "float32",
                              layer("Dense", name="d0", units=32, activation="relu",
                                    kernel_regularizer=regularizer("L1L2", l1=1e-3, l2=1e-2),
                                    bias_regularizer=regularizer("L2", l2=1e-2),
                                    activity_regularizer=regularizer("L2", l2=1e-3)),
                              layer("Dense", name="d1", units=32, activation="gelu",
                                    kernel_regularizer=regularizer("OrthogonalRegularizer", factor=1e-2,
                                                                   mode="rows")),
                              layer("ActivityRegularization", name="activity", l1=1e-3), SOFTMAX),
    "regularized_cnn": sequential("regularized_cnn", [8, 8, 3], "float32",
                                  layer("Conv2D", name="c0", filters=8, kernel_size=[3, 3], padding="same",
                                        use_bias=False, kernel_regularizer=regularizer("L2", l2=1e-2),
                                        activity_regularizer=regularizer("L1", l1=1e-3)),
                                  layer("BatchNormalization", name="bn", axis=-1,
                                        gamma_regularizer=regularizer("L2", l2=1e-2)),
                                  layer("Activation", name="a", activation="relu"),
                                  layer("Flatten", name="f"), SOFTMAX),
    "regularized_lstm": sequential("regularized_lstm", [7], "int32",
                                   layer("Embedding", name="e", input_dim=30, output_dim=8, mask_zero=True,
                                         embeddings_regularizer=regularizer("L2", l2=1e-2)),
                                   layer("LSTM", name="l", units=12,
                                         recurrent_regularizer=regularizer("L2", l2=1e-2),
                                         activity_regularizer=regularizer("L2", l2=1e-3)), SOFTMAX),
}  # fmt: skip


def tensor(name):
    return {"class_name": "__keras_tensor__",
            "config": {"shape": [], "dtype": "float32", "keras_history": [name, 0, 0]}}  # fmt: skip


def node(kind, name, inputs, **config):
    """A layer of a functional model, called once with the outputs of others."""
    given = [tensor(source) for source in inputs]
    joined = [given] if kind == "Add" else given
    return {"module": "keras.layers", "class_name": kind, "name": name, "config": {"name": name, **config},
            "inbound_nodes": [{"args": joined, "kwargs": {}}] if inputs else []}  # fmt: skip


TRANSFORMER = {"class_name": "Functional", "config": {
    "name": "transformer",
    "layers": [
        node("InputLayer", "x", [], batch_shape=[None, 7], dtype="int32"),
        node("Embedding", "e", ["x"], input_dim=30, output_dim=8),
        node("MultiHeadAttention", "heads", ["e", "e"], num_heads=2, key_dim=4, dropout=0.1),
        node("Dropout", "drop", ["heads"], rate=0.2),
        node("Add", "sum", ["e", "drop"]),
        node("LayerNormalization", "norm", ["sum"], axis=-1),
        node("Dense", "wide", ["norm"], units=16, activation="gelu"),
        node("GlobalAveragePooling1D", "mean", ["wide"]),
        node("Dense", "out", ["mean"], units=3, activation="softmax", dtype="float32"),
    ],
    "input_layers": [["x", 0, 0]],
    "output_layers": [["out", 0, 0]],
}}  # fmt: skip
MODELS["transformer"] = TRANSFORMER

ADAM = {"learning_rate": 0.01}
# Other optimizers than plain Adam, by model. Norms of gradients are sums over all parts of a batch; those of an
# Embedding are of rows.
OPTIMIZERS = {
    "clipnorm": {**ADAM, "clipnorm": 0.05},
    "global_clipnorm": {**ADAM, "global_clipnorm": 0.05},
    "clipvalue": {**ADAM, "clipvalue": 0.01},
    "clipped_lstm": {**ADAM, "clipnorm": 0.05},
    "regularized_cnn": {**ADAM, "global_clipnorm": 0.05},
}
# The training without what each of these is for: the same model, or one of the same data.
PLAIN = {"clipnorm": "mlp", "global_clipnorm": "mlp", "clipvalue": "mlp", "clipped_lstm": "lstm",
         "regularized": "mlp", "regularized_cnn": "cnn", "regularized_lstm": "lstm"}  # fmt: skip

# These sum over a batch in each way that there is.
IDENTICAL = ["mlp", "cnn", "lstm", "transformer", *PLAIN]


def write(folder, rows=96, names=MODELS):
    """MODEL.json and MODEL.npz of each model."""
    for name in names:
        random = numpy.random.default_rng(7)
        model = MODELS.get(name) or MODELS[PLAIN[name]]
        (folder / f"{name}.json").write_text(json.dumps(model))
        first = model["config"]["layers"][0]["config"]
        shape = [rows, *first["batch_shape"][1:]]
        x = (random.integers(0, 30, shape).astype(numpy.int32) if first["dtype"] == "int32"
             else random.normal(size=shape).astype(numpy.float32))  # fmt: skip
        y = random.integers(0, 3, rows).astype(numpy.int32)
        numpy.savez(folder / f"{name}.npz", x=x, y0=y)
