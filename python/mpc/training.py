# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop of `Model.fit`: that of `mpc-run train`, with Keras's callbacks."""

from __future__ import annotations

import math
import operator
import warnings
from contextlib import closing
from typing import TYPE_CHECKING, Any, Callable, Collection, Mapping, Optional, Union

import numpy as np

from . import _runtime
from .arrays import check_steps, to_array
from .callbacks import History, ProgressBar
from .class_weights import ClassWeights
from .epochs import Epochs
from .errors import InvalidArgumentError
from .evaluation import evaluate, held_data, read_metrics
from .feeding import batch_reader, batch_size_of, columns_of, parts_of, targets_of
from .hooks import Hooks, level_of
from .rows import Rows
from .streams import Stream, check_stream, is_stream, name_of

if TYPE_CHECKING:
    from .model import Entry, Model


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InvalidArgumentError(f"{name} is {value!r}; expected an integer of at least {least}")
    return number


def _validated_epochs(frequency: Any, epochs: int) -> Collection[int]:
    if isinstance(frequency, (list, tuple, set, frozenset)):
        return {_whole("validation_freq", epoch, 1) for epoch in frequency}
    return range(_whole("validation_freq", frequency, 1), epochs + 1, frequency)


def _take(value: Any, rows: slice) -> Any:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {name: _take(each, rows) for name, each in value.items()}
    if isinstance(value, (list, tuple)) and value and all(hasattr(each, "shape") for each in value):
        return [to_array(each)[rows] for each in value]
    return to_array(value)[rows]


def _count(x: Any) -> int:
    first = next(iter(x.values())) if isinstance(x, Mapping) else x
    if isinstance(first, (list, tuple)) and first and hasattr(first[0], "shape"):
        first = first[0]
    return len(to_array(first))


class Split:
    """Rows to train on, and the last part of them held back."""

    def __init__(self, x: Any, y: Any, sample_weight: Any, share: float) -> None:
        if is_stream(x):
            raise InvalidArgumentError(f"validation_split is given, but x is a {name_of(x)}, which cannot be split; pass validation_data")
        rows = _count(x)
        middle = math.floor(rows * (1.0 - share))
        if middle == rows:
            raise InvalidArgumentError(f"validation_split is {share}, which leaves none of {rows} rows to validate on; expected a larger one")
        self.kept, self.held = (tuple(_take(value, part) for value in (x, y, sample_weight)) for part in (slice(0, middle), slice(middle, rows)))


def _order_of(model: "Model") -> Callable[[int], np.ndarray]:
    """Of rows or of a dataset's batches, for the pass that begins. It holds the model alone: whoever draws is held by data, which
    would stay until Python looks for cycles if it held these."""
    return lambda count: np.asarray(_runtime.shuffled_rows(count, model.seed, 0 if model._repeats_order else model._passes), np.int64)


class Plan:
    """What `fit` was asked to do, checked: data, validation and epochs."""

    def __init__(self, model: "Model", step: "Entry", x: Any, y: Any, sample_weight: Any, options: Mapping[str, Any]) -> None:
        self._model, self._step = model, step
        weights = None if options["class_weight"] is None else ClassWeights(options["class_weight"], targets_of(model, step))
        split = options["validation_split"] or 0.0
        if not isinstance(split, (int, float, np.integer, np.floating)) or not 0 <= split < 1:
            raise InvalidArgumentError(f"validation_split is {split!r}; expected a number between 0 and 1")
        self.epochs, self.initial_epoch = _whole("epochs", options["epochs"], 0), _whole("initial_epoch", options["initial_epoch"], 0)
        self.validated = _validated_epochs(options["validation_freq"], self.epochs)
        held, batch_size = options["validation_data"], options["batch_size"]
        if split and held is None:
            parts = Split(x, y, sample_weight, float(split))
            (x, y, sample_weight), held = parts.kept, parts.held
        steps = check_steps(options["steps_per_epoch"], "steps_per_epoch")
        if is_stream(x):
            self.data = self._streamed(x, y, sample_weight, weights, steps, options["shuffle"])
        else:
            self.data, batch_size = self._rows(x, y, sample_weight, weights, batch_size, steps, options["shuffle"])
        self.validation = None if held is None else self._validation(held, options["validation_batch_size"] or batch_size, options["validation_steps"])

    def _streamed(self, x: Any, y: Any, sample_weight: Any, weights: Optional[ClassWeights], steps: Optional[int], shuffle: bool) -> Epochs:
        check_stream(x, steps, y=y, sample_weight=sample_weight)
        model, step = self._model, self._step
        return Epochs(Stream(x, batch_reader(model, step, weights), _order_of(model) if shuffle else None), steps)

    def _rows(self, x: Any, y: Any, sample_weight: Any, weights: Optional[ClassWeights], batch_size: Optional[int], steps: Optional[int],
              shuffle: bool) -> tuple[Epochs, int]:  # fmt: skip
        if weights is not None:  # of the rows to train on alone, as in Keras
            sample_weight = weights.weigh(y, sample_weight)
        columns = columns_of(self._model, self._step, x, y, sample_weight)
        rows = len(columns[0])
        if rows == 0:
            raise InvalidArgumentError("there are no rows to train on")
        size = batch_size_of(self._step, batch_size, rows)
        return Epochs(Rows(columns, size, _order_of(self._model) if shuffle else None), steps), size

    def _validation(self, held: Any, batch_size: Optional[int], steps: Any) -> Epochs:
        entry = self._model._entry("evaluate")
        if is_stream(held):
            x, y, sample_weight = held, None, None
        elif isinstance(held, (list, tuple)) and 1 <= len(held) <= 3:
            x, y, sample_weight = parts_of(held)
        else:
            raise InvalidArgumentError(f"validation_data is a {type(held).__name__}; expected (x, y), (x, y, sample_weight) or what gives batches of these")
        return held_data(self._model, entry, x, y, sample_weight, batch_size, steps, "validation_data", "validation_steps")


def _finish_averages(model: "Model") -> None:
    """Weights become their moving averages, as Keras's fit ends (`use_ema`)."""
    averages = model.optimizer.moving_averages if model.optimizer is not None else None
    if averages:
        model.gather_variables()
    for weight, average in zip(model.trainable_variables, averages or []):
        weight.assign(average.numpy())


def _train_epoch(model: "Model", step: "Entry", data: Epochs, hooks: Hooks) -> int:
    """The number of batches."""
    model._context.reset_metrics()
    watched, count = hooks.watch("train"), 0
    with closing(data.epoch()) as batches:  # type: ignore[type-var]
        for index, batch in enumerate(batches):
            hooks.call("on_train_batch_begin", index)
            model._run(step, batch.inputs, model._outputs(step, batch.rows), batch.rows)
            count += 1
            hooks.call("on_train_batch_end", index, logs=read_metrics(model) if watched else {})
            if model.stop_training:
                break
    model._passes += 1
    return count


def fit(model: "Model", x: Any, y: Any, sample_weight: Any, *, verbose: Union[int, str], callbacks: Any, **options: Any) -> History:
    step = model._entry("train_step")
    plan = Plan(model, step, x, y, sample_weight, options)
    history, level = History(), level_of(verbose)
    model.history, model.stop_training, model._initial_epoch = history, False, None
    params = {"epochs": plan.epochs, "steps": plan.data.steps, "verbose": level}
    hooks = Hooks(model, callbacks, [*([ProgressBar(level)] if level else []), history], params)
    hooks.call("on_train_begin")
    logs: dict[str, Any] = {}
    for epoch in range(model._initial_epoch or plan.initial_epoch, plan.epochs):
        hooks.call("on_epoch_begin", epoch)
        count = _train_epoch(model, step, plan.data, hooks)
        params["steps"] = plan.data.steps  # known by now
        if not count:
            warnings.warn(f"{plan.data.source.name} has no more batches; training ends before epoch {epoch + 1} of {plan.epochs}. Expected what can be "
                          "iterated again for each epoch, or steps_per_epoch and a generator that gives enough", stacklevel=3)  # fmt: skip
            break
        logs = dict(sorted(read_metrics(model).items()))  # Keras's order in History
        if plan.validation is not None and epoch + 1 in plan.validated:
            held = evaluate(model, model._entry("evaluate"), plan.validation, hooks)
            if held is None:
                warnings.warn(f"validation_data: {plan.validation.source.name} has no more batches; epoch {epoch + 1} goes without validation. Expected "
                              "what can be iterated again, or validation_steps and a generator that gives enough", stacklevel=3)  # fmt: skip
            logs.update({"val_" + name: value for name, value in (held or {}).items()})
        if hooks.given:
            model.gather_variables()  # callbacks may read any of them
        hooks.call("on_epoch_end", epoch, logs=logs)
        if model.stop_training:
            break
    if plan.epochs > 0:
        _finish_averages(model)
    hooks.call("on_train_end", logs=logs)
    return history
