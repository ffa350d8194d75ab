# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop of `Model.fit`: that of `mpc-run train`, with Keras's callbacks."""

from __future__ import annotations

import math
import numbers
import operator
import sys
from typing import TYPE_CHECKING, Any, Collection, Mapping, Optional, Sequence, Union

import numpy as np

from . import _runtime
from .arrays import Column, to_array, to_numpy
from .callbacks import Callback, History, ProgressBar
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .model import Entry, Model


def read_metrics(model: "Model") -> dict[str, Any]:
    """Running results by name; an array for a metric that is a vector."""
    logs: dict[str, Any] = {}
    computed: dict[str, np.ndarray] = {}
    entry = model._entries.get("metric_results")
    if entry:
        outputs = model._outputs(entry, 1)
        model._run(entry, [], outputs, 1)
        computed = dict(zip((tensor["name"] for tensor in entry.outputs), outputs))
    for index, metric in enumerate(model._metrics):
        name = metric["name"]
        if metric["kind"] == 2 and name in computed:
            logs[name] = float(computed[name]) if computed[name].ndim == 0 else computed[name]
        else:
            logs[name] = model._context.metric(index)
    return logs


def evaluate_columns(model: "Model", entry: "Entry", columns: Sequence[Column], size: int) -> dict[str, Any]:
    model._context.reset_metrics()
    rows = len(columns[0])
    for begin in range(0, rows, size):
        end = min(begin + size, rows)
        model._run(entry, [column.slice(begin, end) for column in columns], model._outputs(entry, end - begin), end - begin)
    return read_metrics(model)


def _check_class_weight(class_weight: Any) -> None:
    if not isinstance(class_weight, Mapping):
        raise InvalidArgumentError(f"class_weight is a {type(class_weight).__name__}; expected a dict of weights by class")
    for key, weight in class_weight.items():
        if not isinstance(key, (numbers.Real, np.bool_)) or key < 0 or key != int(key):
            raise InvalidArgumentError(f"class_weight: the key {key!r} is no class; expected an integer of at least 0")
        if not isinstance(weight, numbers.Real) or not 0 <= weight <= np.finfo(np.float32).max:
            raise InvalidArgumentError(f"class_weight: class {key} has the weight {weight!r}; expected a number of at least 0 that float32 can hold")


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InvalidArgumentError(f"{name} is {value!r}; expected an integer of at least {least}")
    return number


def _as_list(callbacks: Any) -> list[Any]:
    """Of Keras's forms: none, one, several."""
    listed = [] if callbacks is None else [callbacks] if hasattr(callbacks, "on_epoch_end") else list(callbacks)
    for each in listed:
        if not hasattr(each, "on_epoch_end"):
            raise InvalidArgumentError(f"callbacks has a {type(each).__name__}; expected objects of classes that derive from mpc.Callback")
    return listed


def _weights_of_classes(class_weight: Mapping[int, float], y: Any, sample_weight: Any, target: Mapping[str, Any]) -> np.ndarray:
    """As Keras: classes of integer targets, or the largest of one-hot ones; others weigh 1."""
    targets = to_numpy(y)
    shape = target["shape"][1:]
    one_hot = len(shape) == 1 and target["dtype"].startswith(("float", "bfloat"))
    if targets.ndim > 2 or not (one_hot or math.prod(shape) == 1):
        raise InvalidArgumentError(f"class_weight is given, but y of shape {targets.shape} has more than one class in a row; expected (rows,), (rows, 1) "
                                   "or one-hot (rows, classes); pass sample_weight, a weight for each class there")  # fmt: skip
    classes = np.argmax(targets, axis=-1) if targets.ndim > 1 and targets.shape[-1] > 1 else targets.reshape(len(targets))
    weights = np.array([class_weight.get(int(each), 1.0) for each in np.rint(np.nan_to_num(classes))], np.float32)
    if sample_weight is None:
        return weights
    given = np.asarray(sample_weight, np.float32)
    return given * weights.reshape(-1, *[1] * (given.ndim - 1))


def _take(value: Any, rows: slice) -> Any:
    if isinstance(value, Mapping):
        return {name: to_array(each)[rows] for name, each in value.items()}
    if isinstance(value, (list, tuple)) and value and all(hasattr(each, "shape") for each in value):
        return [to_array(each)[rows] for each in value]
    return to_array(value)[rows]


def _count(x: Any) -> int:
    first = next(iter(x.values())) if isinstance(x, Mapping) else x
    if isinstance(first, (list, tuple)) and first and hasattr(first[0], "shape"):
        first = first[0]
    return len(to_array(first))


def _finish_averages(model: "Model") -> None:
    """Weights become their moving averages, as Keras's fit ends (`use_ema`)."""
    slots = {variable.path.rsplit("/", 1)[-1]: variable for variable in model.variables if variable.role == "optimizer"}
    pairs = [(weight, slots.get(weight.path.replace("/", "_") + "_average")) for weight in model.trainable_variables]
    if all(average is not None and average.dtype == weight.dtype for weight, average in pairs):
        for weight, average in pairs:
            weight.assign(average.numpy())  # type: ignore[union-attr]


def fit(
    model: "Model",
    x: Any,
    y: Any,
    *,
    batch_size: Optional[int],
    epochs: int,
    verbose: Union[int, str],
    callbacks: Union[Callback, Sequence[Callback], None],
    validation_split: float,
    validation_data: Any,
    shuffle: bool,
    class_weight: Optional[Mapping[int, float]],
    sample_weight: Any,
    initial_epoch: int,
    validation_batch_size: Optional[int],
    validation_freq: Union[int, Collection[int]],
) -> History:
    step = model._entry("train_step")
    if class_weight is not None:
        if isinstance(y, (Mapping, list, tuple)):
            raise InvalidArgumentError("class_weight is for models with one target")
        _check_class_weight(class_weight)
        targets = [tensor for tensor in step.inputs[len(model.input_names) :] if not tensor["name"].startswith("sample_weight")]
        if len(targets) != 1:
            raise InvalidArgumentError("class_weight is for models with one target")
    validation_split = 0.0 if validation_split is None else validation_split
    if not isinstance(validation_split, numbers.Real) or not 0 <= validation_split < 1:
        raise InvalidArgumentError(f"validation_split is {validation_split!r}; expected a number between 0 and 1")
    epochs = _whole("epochs", epochs, 0)
    initial_epoch = _whole("initial_epoch", initial_epoch, 0)
    if isinstance(validation_freq, (list, tuple, set, frozenset)):
        validated = {_whole("validation_freq", epoch, 1) for epoch in validation_freq}
    else:
        validated = range(_whole("validation_freq", validation_freq, 1), epochs + 1, validation_freq)  # type: ignore[assignment]
    if validation_split and validation_data is None:
        rows = _count(x)
        middle = math.floor(rows * (1.0 - validation_split))
        if middle == rows:
            raise InvalidArgumentError(f"validation_split is {validation_split}, which leaves none of {rows} rows to validate on; expected a larger one")
        held, kept = slice(middle, rows), slice(0, middle)
        weights = None if sample_weight is None else _take(sample_weight, held)
        validation_data = (_take(x, held), _take(y, held), weights)
        x, y, sample_weight = _take(x, kept), _take(y, kept), None if sample_weight is None else _take(sample_weight, kept)
    if class_weight is not None:  # of the rows to train on alone, as in Keras
        sample_weight = _weights_of_classes(class_weight, y, sample_weight, targets[0])
    columns = model._columns(step, x, y, sample_weight)
    rows = len(columns[0])
    if rows == 0:
        raise InvalidArgumentError("there are no rows to train on")
    size = model._batch_size(step, batch_size, rows)
    validation = None
    if validation_data is not None:
        entry = model._entry("evaluate")
        if not isinstance(validation_data, (list, tuple)) or not 2 <= len(validation_data) <= 3:
            raise InvalidArgumentError(f"validation_data is a {type(validation_data).__name__}; expected (x, y) or (x, y, sample_weight)")
        held_x, held_y, *held_weight = validation_data
        validation = (entry, model._filled_columns(entry, held_x, held_y, held_weight[0] if held_weight else None, "validation_data"))

    history = History()
    level = (1 if sys.stdout.isatty() else 2) if verbose == "auto" else int(verbose)
    hooks: list[Any] = [*_as_list(callbacks), *([ProgressBar(level)] if level else []), history]
    steps = -(-rows // size)
    model.stop_training = False
    for hook in hooks:
        hook.set_params({"epochs": epochs, "steps": steps, "verbose": level})
        hook.set_model(model)
    for hook in hooks:
        hook.on_train_begin({})
    watched = any(type(hook).on_train_batch_end is not Callback.on_train_batch_end or "on_train_batch_end" in vars(hook) for hook in hooks)
    logs: dict[str, Any] = {}
    for epoch in range(initial_epoch, epochs):
        for hook in hooks:
            hook.on_epoch_begin(epoch, {})
        model._context.reset_metrics()
        order = np.asarray(_runtime.shuffled_rows(rows, model.seed, 0 if model._repeats_order else model._passes), np.int64) if shuffle else None
        model._passes += 1
        for index, begin in enumerate(range(0, rows, size)):
            end = min(begin + size, rows)
            for hook in hooks:
                hook.on_train_batch_begin(index, {})
            taken = [column.slice(begin, end) if order is None else column.rows(order[begin:end]) for column in columns]
            model._run(step, taken, model._outputs(step, end - begin), end - begin)
            logs = read_metrics(model) if watched else {}
            for hook in hooks:
                hook.on_train_batch_end(index, logs)
            if model.stop_training:
                break
        logs = dict(sorted(read_metrics(model).items()))  # Keras's order in History
        if validation and epoch + 1 in validated:
            entry, held_columns = validation
            held_size = model._batch_size(entry, validation_batch_size or size, len(held_columns[0]))
            held = evaluate_columns(model, entry, held_columns, held_size)
            logs.update({"val_" + name: value for name, value in sorted(held.items())})
        for hook in hooks:
            hook.on_epoch_end(epoch, logs)
        if model.stop_training:
            break
    if epochs > 0:
        _finish_averages(model)
    for hook in hooks:
        hook.on_train_end(logs)
    return history
