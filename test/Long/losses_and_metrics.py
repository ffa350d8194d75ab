# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses and metrics with random options on random predictions, by real Keras and by mpc.

A loss is compared by value and gradient for a random reduction, dtype of the predictions and with or without
weights; a metric by its result after one, two and three batches. As in test/Conformance each is compiled as
the identity of its predictions. Case N is the same in every run.
Usage: losses_and_metrics.py BIN [CASES [FIRST]] [--keep FOLDER]
"""

import json
import os
import random
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Conformance"))

import keras
import numpy
import real_keras
import tensorflow
from keras import losses, metrics
from loss_and_metric import identity_model

REDUCTIONS = ["sum_over_batch_size", "sum", "mean", "mean_with_sample_weight"]
TOLERANCES = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 4e-2, "float64": 1e-4}


def probabilities(numbers, shape, axis=-1):
    values = numpy.exp(numbers.randn(*shape) * 2)
    return values / values.sum(axis, keepdims=True)


def extreme(d, numbers, values):
    """Some predictions at the ends of their range, where losses clip."""
    if d.random() < 0.3:
        values = numpy.where(numbers.uniform(size=values.shape) < 0.2, numpy.round(values), values)
    return values


def one_hot(numbers, shape):
    return numpy.eye(shape[-1])[numbers.randint(0, shape[-1], shape[:-1])]


def random_shape(d, low=1, high=3):
    return (d.randrange(2, 9), *(d.randrange(2, 6) for _ in range(d.randrange(low, high + 1))))


def random_loss(d, numbers):
    """(loss, targets, predictions)."""
    shape = random_shape(d)
    logits, smoothing = d.random() < 0.5, d.choice([0.0, 0.0, 0.1, 0.3])
    kind = d.choice(["binary", "binary_focal", "categorical", "focal", "sparse", "generalized", "regression", "regression", "regression", "hinge",
                     "categorical_hinge", "cosine", "kld", "poisson", "overlap", "huber"])  # fmt: skip
    scores = numbers.randn(*shape) * 3
    if kind in ("binary", "binary_focal"):
        targets = numbers.randint(0, 2, shape) if d.random() < 0.7 else numbers.uniform(size=shape)
        predictions = scores if logits else extreme(d, numbers, 1 / (1 + numpy.exp(-scores)))
        options = dict(from_logits=logits, label_smoothing=smoothing, axis=d.choice([-1, -1, len(shape) - 1, 1]))
        if kind == "binary":
            return losses.BinaryCrossentropy(**options), targets, predictions
        return losses.BinaryFocalCrossentropy(apply_class_balancing=d.random() < 0.5, alpha=d.choice([0.25, 0.6]), gamma=d.choice([2.0, 1.0, 0.5, 3.5]), **options), targets, predictions
    if kind in ("categorical", "focal"):
        axis = d.choice([-1, -1, -1, 1])
        targets = numpy.moveaxis(one_hot(numbers, numpy.moveaxis(scores, axis, -1).shape), -1, axis) if d.random() < 0.7 else probabilities(numbers, shape, axis)
        predictions = scores if logits else extreme(d, numbers, probabilities(numbers, shape, axis)) * d.choice([1.0, 1.0, 2.0])
        options = dict(from_logits=logits, label_smoothing=smoothing, axis=axis)
        if kind == "categorical":
            return losses.CategoricalCrossentropy(**options), targets, predictions
        return losses.CategoricalFocalCrossentropy(alpha=d.choice([0.25, 0.7]), gamma=d.choice([2.0, 1.0, 3.5]), **options), targets, predictions
    if kind == "sparse":
        axis = d.choice([-1, -1, -1, 1])
        predictions = scores if logits else extreme(d, numbers, probabilities(numbers, shape, axis))
        classes = shape[axis]
        targets = numbers.randint(0, classes, tuple(numpy.delete(shape, axis % len(shape))))
        ignore = d.choice([None, None, 0, classes - 1, -1])
        if ignore == -1:
            targets = numpy.where(numbers.uniform(size=targets.shape) < 0.3, -1, targets)
        return losses.SparseCategoricalCrossentropy(from_logits=logits, ignore_class=ignore, axis=axis), targets, predictions
    if kind == "generalized":
        return losses.CategoricalGeneralizedCrossEntropy(q=d.choice([0.3, 0.5, 0.9])), numbers.randint(0, shape[-1], shape[:-1]), probabilities(numbers, shape)
    if kind == "hinge":
        targets = numbers.randint(0, 2, shape) * 2 - 1 if d.random() < 0.5 else numbers.randint(0, 2, shape)
        return d.choice([losses.Hinge, losses.SquaredHinge])(), targets, scores
    if kind == "categorical_hinge":
        return losses.CategoricalHinge(), one_hot(numbers, shape), probabilities(numbers, shape)
    if kind == "cosine":
        return losses.CosineSimilarity(axis=d.choice([-1, 1])), numbers.randn(*shape), scores
    if kind == "kld":
        return losses.KLDivergence(), probabilities(numbers, shape), extreme(d, numbers, probabilities(numbers, shape))
    if kind == "poisson":
        return losses.Poisson(), numpy.abs(numbers.randn(*shape)), numpy.abs(scores) + 0.01
    if kind == "huber":
        return losses.Huber(delta=d.choice([1.0, 0.3, 2.5])), numbers.randn(*shape), scores
    if kind == "overlap":
        axis = d.choice([None, tuple(range(1, len(shape))), (-1,)])
        predictions, targets = 1 / (1 + numpy.exp(-scores)), numbers.randint(0, 2, shape)
        if d.random() < 0.5:
            return losses.Dice(axis=axis), targets, predictions
        return losses.Tversky(alpha=d.choice([0.5, 0.3]), beta=d.choice([0.5, 0.8]), axis=axis), targets, predictions
    loss = d.choice([losses.MeanSquaredError, losses.MeanAbsoluteError, losses.MeanAbsolutePercentageError, losses.MeanSquaredLogarithmicError, losses.LogCosh])()
    if isinstance(loss, losses.MeanSquaredLogarithmicError):
        return loss, numpy.abs(numbers.randn(*shape)), numpy.abs(scores)
    return loss, numbers.randn(*shape), scores


def random_metric(d, numbers):
    """(metric, targets, predictions) of three batches."""
    rows, classes = d.randrange(2, 9), d.randrange(2, 6)
    more = tuple(d.randrange(2, 5) for _ in range(d.choice([0, 0, 1])))
    shape = (3 * rows, *more, classes)
    scores = numbers.randn(*shape) * 2
    logits = d.random() < 0.5
    kind = d.choice(["binary", "confusion", "confusion", "auc", "at", "categorical", "sparse", "f", "iou", "one_hot_iou", "binary_iou", "regression",
                     "regression", "r2", "correlation", "accuracy", "hinge", "top"])  # fmt: skip
    sigmoid = 1 / (1 + numpy.exp(-scores))
    truth = numbers.randint(0, 2, shape)
    threshold = d.choice([None, 0.3, 0.7])
    some = d.choice([None, 0.4, [0.2, 0.5, 0.8]])
    class_id = d.choice([None, None, classes - 1])
    if kind == "binary":
        if d.random() < 0.5:
            return metrics.BinaryAccuracy(threshold=d.choice([0.5, 0.2])), truth, sigmoid
        return metrics.BinaryCrossentropy(from_logits=logits, label_smoothing=d.choice([0, 0.2])), truth, scores if logits else sigmoid
    if kind == "confusion":
        name = d.choice(["Precision", "Recall", "TruePositives", "TrueNegatives", "FalsePositives", "FalseNegatives"])
        if name in ("Precision", "Recall"):
            top = d.choice([None, None, 1, 2])
            return getattr(metrics, name)(thresholds=some if top is None else None, top_k=top, class_id=class_id), truth, sigmoid
        return getattr(metrics, name)(thresholds=some), truth, sigmoid
    if kind == "auc":
        multi = d.random() < 0.4 and not more
        options = dict(num_thresholds=d.choice([5, 20, 200])) if d.random() < 0.7 else dict(thresholds=[0.2, 0.5, 0.6])
        weights = [d.choice([0.5, 1.0, 2.0]) for _ in range(classes)] if multi and d.random() < 0.5 else None
        return metrics.AUC(curve=d.choice(["ROC", "PR"]), summation_method=d.choice(["interpolation", "minoring", "majoring"]), multi_label=multi,
                           num_labels=classes if multi else None, label_weights=weights, from_logits=logits, **options), truth, scores if logits else sigmoid  # fmt: skip
    if kind == "at":
        name = d.choice(["PrecisionAtRecall", "RecallAtPrecision", "SensitivityAtSpecificity", "SpecificityAtSensitivity"])
        return getattr(metrics, name)(d.choice([0.3, 0.5, 0.8]), num_thresholds=d.choice([1, 10, 50]), class_id=class_id), truth, sigmoid
    if kind == "categorical":
        made = d.choice([metrics.CategoricalAccuracy(), metrics.CategoricalHinge(), metrics.KLDivergence(),
                         metrics.CategoricalCrossentropy(from_logits=logits, label_smoothing=d.choice([0, 0.1]))])  # fmt: skip
        return made, one_hot(numbers, shape), scores if logits and isinstance(made, metrics.CategoricalCrossentropy) else probabilities(numbers, shape)
    if kind == "sparse":
        labels = numbers.randint(0, classes, shape[:-1])
        made = d.choice([metrics.SparseCategoricalAccuracy(), metrics.SparseCategoricalCrossentropy(from_logits=logits, ignore_class=d.choice([None, 0]))])
        return made, labels, scores if logits else probabilities(numbers, shape)
    if kind == "top":
        k = d.randrange(1, classes + 2)
        shape = (3 * rows, classes)
        if d.random() < 0.5:
            return metrics.TopKCategoricalAccuracy(k=k), one_hot(numbers, shape), probabilities(numbers, shape)
        return metrics.SparseTopKCategoricalAccuracy(k=k), numbers.randint(0, classes, 3 * rows), probabilities(numbers, shape)
    if kind == "f":
        shape = (3 * rows, classes)
        options = dict(average=d.choice([None, "micro", "macro", "weighted"]), threshold=threshold)
        truth = numbers.randint(0, 2, shape) if threshold is not None else one_hot(numbers, shape)
        made = metrics.F1Score(**options) if d.random() < 0.5 else metrics.FBetaScore(beta=d.choice([0.5, 2.0]), **options)
        return made, truth.astype("float32"), probabilities(numbers, shape)
    if kind == "iou":
        sparse_true, sparse_pred = d.random() < 0.5, d.random() < 0.5
        options = dict(num_classes=classes, sparse_y_true=sparse_true, sparse_y_pred=sparse_pred, ignore_class=d.choice([None, None, 0]))
        labels = numbers.randint(0, classes, shape[:-1])
        targets = labels if sparse_true else numpy.eye(classes)[labels]
        predictions = numbers.randint(0, classes, shape[:-1]) if sparse_pred else probabilities(numbers, shape)
        if d.random() < 0.5:
            return metrics.MeanIoU(**options), targets, predictions
        return metrics.IoU(target_class_ids=[0, classes - 1], **options), targets, predictions
    if kind == "one_hot_iou":
        options = dict(num_classes=classes, ignore_class=d.choice([None, None, 0]))
        made = metrics.OneHotMeanIoU(**options) if d.random() < 0.5 else metrics.OneHotIoU(target_class_ids=[classes - 1], **options)
        return made, one_hot(numbers, shape), probabilities(numbers, shape)
    if kind == "binary_iou":
        return metrics.BinaryIoU(target_class_ids=d.choice([(0, 1), (1,)]), threshold=d.choice([0.5, 0.3])), truth, sigmoid
    if kind == "r2":
        shape = (3 * rows, classes)
        made = metrics.R2Score(class_aggregation=d.choice([None, "uniform_average", "variance_weighted_average"]), num_regressors=d.choice([0, 0, 1]))
        return made, numbers.randn(*shape).astype("float32"), numbers.randn(*shape)
    if kind == "correlation":
        return d.choice([metrics.PearsonCorrelation, metrics.ConcordanceCorrelation])(axis=d.choice([-1, 1])), numbers.randn(*shape), scores
    if kind == "accuracy":
        return metrics.Accuracy(), numbers.randint(0, 3, shape), numbers.randint(0, 3, shape)
    if kind == "hinge":
        return d.choice([metrics.Hinge, metrics.SquaredHinge])(), truth * 2 - 1 if logits else truth, scores
    made = d.choice([metrics.MeanSquaredError, metrics.RootMeanSquaredError, metrics.MeanAbsoluteError, metrics.MeanAbsolutePercentageError,
                     metrics.MeanSquaredLogarithmicError, metrics.LogCoshError, metrics.Poisson, metrics.CosineSimilarity])()  # fmt: skip
    positive = isinstance(made, (metrics.MeanSquaredLogarithmicError, metrics.Poisson))
    return made, numpy.abs(numbers.randn(*shape)) if positive else numbers.randn(*shape), numpy.abs(scores) + 0.01 if positive else scores


def stored(array):
    """As data files hold it: int32 or float32."""
    return numpy.asarray(array).astype("int32" if numpy.asarray(array).dtype.kind in "iu" else "float32")


def serialized(thing, arguments=()):
    made = keras.saving.serialize_keras_object(thing)
    made["config"].update(arguments)
    return made


def compile_identity(folder, tools, shape, dtype, loss, name, made):
    model = identity_model(shape, dtype, loss, None)
    if name:
        model["compile_config"][name] = [made]
    path = os.path.join(folder, "model.json")
    with open(path, "w") as handle:
        json.dump(model, handle, default=lambda v: v.tolist() if hasattr(v, "tolist") else list(v))
    real_keras.run(os.path.join(tools, "mpcc"), path, "--output-guard=off", "--march=native", "--loss-scale=none", "--name=model",
                   "-o", os.path.join(folder, "model.mpc"))  # fmt: skip
    return os.path.join(folder, "model.mpc")


def report(what, errors):
    worst = max(errors, key=errors.get)
    good = bool(errors[worst] <= 1)
    print(f"{'ok  ' if good else 'FAIL'} {what}: {worst} at {errors[worst]:.2g} of the tolerance")
    return good


def check_loss(number, d, numbers, tools, folder):
    loss, targets, predictions = random_loss(d, numbers)
    targets, predictions = stored(targets), stored(predictions)
    reduction, dtype = d.choice(REDUCTIONS), d.choice(["float32", "float32", "float16", "bfloat16"])
    # Keras lines weights up with the last axis of the losses, not with the samples; they agree where there is one.
    weighable = predictions.ndim == 2 or type(loss).__name__ in ("Dice", "Tversky")
    whole = type(loss).__name__ in ("Dice", "Tversky") and loss.axis is None
    weights = None
    if d.random() < 0.5 and weighable:
        value = numbers.uniform(0.2, 2.0, len(targets)).astype("float32")
        weights = numpy.full_like(value, value[0]) if whole else value
    loss.reduction = reduction
    what = f"case {number} {type(loss).__name__} {dtype} {'weighted' if weights is not None else ''} {predictions.shape} {loss.get_config()}"
    # Keras's own config forgets these.
    extra = {key: loss._fn_kwargs[key] for key in ("delta", "axis") if key in getattr(loss, "_fn_kwargs", {})}
    try:
        x = tensorflow.cast(predictions, dtype)
        with tensorflow.GradientTape() as tape:
            tape.watch(x)
            value = loss(tensorflow.convert_to_tensor(targets), x, sample_weight=weights if not whole or weights is None else weights[0])
        gradient = tape.gradient(value, x)
        if len(value.shape) or gradient is None:
            raise ValueError("no scalar with a gradient")
    except Exception as error:  # Keras's refusals have many types
        print(f"skip {what}: Keras: {str(error).strip().splitlines()[-1][:150]}")
        return None
    compiled = compile_identity(folder, tools, predictions.shape[1:], dtype, serialized(loss, extra), None, None)
    data, output = os.path.join(folder, "data.npz"), os.path.join(folder, "out.npz")
    arrays = {"y_pred": predictions, "y0": targets}
    if weights is not None:
        arrays["sample_weight"] = weights
    numpy.savez(data, **arrays)
    real_keras.run(os.path.join(tools, "mpc-run"), "gradients", compiled, "--data", data, "--outputs", output)
    got = numpy.load(output)
    limit = TOLERANCES[dtype]
    return report(what, {
        "loss": real_keras.difference(got["loss"], value.numpy()) / limit,
        "gradient": real_keras.difference(got["gradx:y_pred"], tensorflow.cast(gradient, "float64").numpy()) / limit,
    })  # fmt: skip


def check_metric(number, d, numbers, tools, folder):
    metric, targets, predictions = random_metric(d, numbers)
    weighted, targets, predictions = d.random() < 0.4 and predictions.ndim == 2, stored(targets), predictions.astype("float32")
    rows = len(targets) // 3
    weights = numbers.uniform(0.2, 2.0, len(targets)).astype("float32")
    what = f"case {number} {type(metric).__name__} {'weighted' if weighted else ''} {predictions.shape} {metric.get_config()}"
    expected = []
    try:
        for batch in range(3):
            part = slice(batch * rows, (batch + 1) * rows)
            metric.update_state(targets[part], predictions[part], sample_weight=weights[part] if weighted else None)
            expected.append(numpy.float64(metric.result()))
    except Exception as error:  # Keras's refusals have many types
        print(f"skip {what}: Keras: {str(error).strip().splitlines()[-1][:150]}")
        return None
    if (predictions.ndim < 2 and targets.shape != predictions.shape) or targets.ndim > predictions.ndim:
        print(f"skip {what}: a compiled model has no loss that takes such targets")
        return None
    made = serialized(metric)
    # It is not compared, but decides whether targets are classes or values.
    loss = "mean_squared_error" if targets.shape == predictions.shape else "sparse_categorical_crossentropy"
    compiled = compile_identity(folder, tools, predictions.shape[1:], "float32", loss, "weighted_metrics" if weighted else "metrics", made)
    errors = {}
    for batches in (1, 2, 3):
        data = os.path.join(folder, "data.npz")
        arrays = {"y_pred": predictions[: batches * rows], "y0": targets[: batches * rows]}
        if weighted:
            arrays["sample_weight"] = weights[: batches * rows]
        numpy.savez(data, **arrays)
        path = os.path.join(folder, "out.json")
        real_keras.run("/bin/sh", "-c", f'"$0" evaluate "$1" --data "$2" --json --batch-size {rows} > "$3"', os.path.join(tools, "mpc-run"), compiled, data, path)
        with open(path) as handle:
            got = json.load(handle)[metric.name]
        scale = max(float(numpy.max(numpy.abs(expected[batches - 1]))), 0.05)
        errors[f"batch {batches}"] = real_keras.difference(got, expected[batches - 1], scale) / 1e-4
    return report(what, errors)


def check(number, tools, folder):
    d, numbers = random.Random(number), numpy.random.RandomState(number)
    keras.config.set_dtype_policy("float32")
    return (check_loss if number % 2 else check_metric)(number, d, numbers, tools, folder)


if __name__ == "__main__":
    sys.exit(real_keras.main(check, __doc__, 300))
