# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models in Python."""

from __future__ import annotations

import contextlib
import json
import operator
import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass, field
from typing import Any, Collection, Iterator, Mapping, Optional, Sequence, Union

import numpy as np

from . import _runtime, structure, tools, training
from .arrays import Column, DeviceArray, as_dlpack, bits, by_name, check_target, convert, fit_weights, numpy_dtype, to_numpy
from .callbacks import Callback, History
from .errors import FailedPreconditionError, InvalidArgumentError, NotFoundError

PathLike = Union[str, "os.PathLike[str]"]


def check_range(name: str, value: int, end: int) -> None:
    if not 0 <= value < end:
        raise InvalidArgumentError(f"{name} is {value}; expected an integer from 0 to {end - 1}")


@dataclass
class Source:
    """What a model was compiled of, for writing it back."""

    path: str
    options: Mapping[str, Any] = field(default_factory=dict)


class TemporaryFolder:
    """A folder that goes when nobody holds the object any more, without the warning that Python's own
    class gives then."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="mpc-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


@dataclass
class Gradients:
    """`variables`: by path, unscaled; `inputs`: of floating inputs, by name."""

    loss: float
    variables: dict[str, np.ndarray]
    inputs: dict[str, np.ndarray]
    outputs: list[np.ndarray]


class Variable:
    """One variable of a model: `path`, `shape`, `dtype`, `role`."""

    # Of the model only what runs: a reference to the model, which has its variables, would keep it
    # and its memory until Python looks for cycles.
    def __init__(self, context: Any, index: int, table: Mapping[str, Any]) -> None:
        self._context, self._index = context, index
        self.path: str = table["name"]
        self.shape: tuple[int, ...] = tuple(table["shape"])
        self.dtype: np.dtype = numpy_dtype(table["dtype"])
        self.role: str = table["role"]

    def numpy(self) -> np.ndarray:
        """A copy of the value."""
        value = np.empty(self.shape, self.dtype)
        self._context.get(self._index, bits(value))
        return value

    def assign(self, value: Any) -> None:
        array = convert(to_numpy(value), self.dtype, self.path)
        if array.shape != self.shape:
            raise InvalidArgumentError(f"{self.path}: has shape {array.shape}; expected {self.shape}")
        self._context.set(self._index, bits(np.ascontiguousarray(array)))

    def __repr__(self) -> str:
        return f"<Variable {self.path}, shape={self.shape}, dtype={self.dtype}, {self.role}>"


class Entry:
    def __init__(self, index: int, table: Mapping[str, Any]) -> None:
        self.index, self.name = index, table["name"]
        self.inputs: list[Mapping[str, Any]] = table["inputs"]
        self.outputs: list[Mapping[str, Any]] = table["outputs"]
        fixed = [tensor["shape"][0] for tensor in self.inputs if tensor["shape"] and tensor["shape"][0] is not None]
        self.fixed_batch: Optional[int] = fixed[0] if fixed else None


class Model:
    """A compiled model with its variables. One thread runs it at a time, others wait; for parallel
    predictions load it once per thread (weights are mapped, and shared)."""

    def __init__(self, path: PathLike, *, device: str = "cpu", threads: int = 0, seed: Optional[int] = None, source: Optional[Source] = None,
                 holder: Any = None, load_initial: bool = True) -> None:  # fmt: skip
        check_range("threads", threads, 1 << 32)
        # As `mpc-run train --seed`: with a seed every epoch of fit takes the rows in one order.
        self._repeats_order, seed = seed is not None, seed or 0
        check_range("seed", seed, 1 << 64)
        self._source, self._holder = source, holder
        self._model = _runtime.Model(os.fspath(path))
        self._context = _runtime.Context(self._model, device, threads, seed, load_initial)
        table = self._model.describe()
        self.name: str = table["name"]
        self.path: str = table["path"]
        self.policy: str = table["policy"]
        self.manifest: dict[str, Any] = json.loads(table["manifest"])
        self.seed, self.stop_training = seed, False
        self._entries = {entry["name"]: Entry(i, entry) for i, entry in enumerate(table["entries"])}
        self._metrics: list[Mapping[str, Any]] = table["metrics"]
        self.variables = [Variable(self._context, i, row) for i, row in enumerate(table["variables"]) if row["role"] != "shadow"]
        predict = self._entries["predict"]
        self.input_names: list[str] = [tensor["name"] for tensor in predict.inputs]
        outputs = self.manifest.get("outputs", [])
        self.output_names: list[str] = [
            (outputs[i].get("alias") if i < len(outputs) else None) or tensor["name"] for i, tensor in enumerate(predict.outputs)
        ]
        self._structure = structure.check(self.manifest.get("output_structure"), len(predict.outputs))
        self._passes = 0  # over the data, in all calls of fit

    def __repr__(self) -> str:
        return f"<mpc.Model {self.name}, policy {self.policy}, inputs {self.input_names}, outputs {self.output_names}>"

    # ---- Running -------------------------------------------------------------------------------------

    def _entry(self, name: str) -> Entry:
        if name not in self._entries:
            raise FailedPreconditionError(f"{self.path}: has no '{name}'; expected a model that was compiled with a loss and an optimizer; "
                                          "compile it with loss=... and optimizer=...")  # fmt: skip
        return self._entries[name]

    def _outputs(self, entry: Entry, rows: int) -> list[np.ndarray]:
        return [np.empty([rows if extent is None else extent for extent in tensor["shape"]], numpy_dtype(tensor["dtype"]))
                for tensor in entry.outputs]  # fmt: skip

    def _run(self, entry: Entry, inputs: Sequence[Any], outputs: Sequence[Any], rows: int) -> None:
        self._context.run(entry.index, list(inputs), [output.tensor if isinstance(output, DeviceArray) else bits(output) for output in outputs], rows)

    def _columns(self, entry: Entry, x: Any, y: Any = None, sample_weight: Any = None) -> list[Column]:
        """All inputs of the entry, checked against each other."""
        count = len(self.input_names)
        values = by_name(x, entry.inputs[:count], self.input_names, "input")
        places = [f"input '{name}'" for name in self.input_names]
        targets = [tensor for tensor in entry.inputs[count:] if not tensor["name"].startswith("sample_weight")]
        weights = entry.inputs[count + len(targets) :]
        aliases = []
        if targets:
            if y is None:
                raise InvalidArgumentError(f"y is missing; expected {len(targets)} targets")
            nested = structure.unpack(y, self._structure, len(self.output_names))
            y = y if nested is None else nested
            aliases = [self.output_names[int(t["name"][1:])] if t["name"][1:].isdigit() and int(t["name"][1:]) < len(self.output_names)
                       else t["name"] for t in targets]  # fmt: skip
            values += by_name(y, targets, aliases, "target")
            places += [f"target '{name}'" for name in aliases]
        columns = [Column(value, tensor, place) for value, tensor, place in zip(values, entry.inputs, places)]
        rows = len(columns[0])
        if sample_weight is not None and not weights:
            raise InvalidArgumentError("sample_weight is given, but the model takes none")
        given: list[Any] = [np.ones(rows, np.float32) if sample_weight is None else sample_weight] * len(weights)
        if isinstance(sample_weight, Mapping) or (isinstance(sample_weight, (list, tuple)) and sample_weight and hasattr(sample_weight[0], "shape")):
            given = by_name(sample_weight, weights, aliases, "sample_weight")
        for value, tensor, alias in zip(given, weights, aliases):
            place = "sample_weight" if len(weights) == 1 else f"sample_weight of '{alias}'"
            columns.append(Column(fit_weights(value, tensor, place), tensor, place))
        for column in columns:
            if len(column) != rows:
                raise InvalidArgumentError(f"{column.place}: has {len(column)} rows; {columns[0].place} has {rows}")
        return columns

    def _batch_size(self, entry: Entry, batch_size: Optional[int], rows: int) -> int:
        try:
            size = operator.index(entry.fixed_batch or 32 if batch_size is None else batch_size)
        except TypeError:
            size = 0
        if size < 1:
            raise InvalidArgumentError(f"batch_size is {batch_size!r}; expected an integer of at least 1")
        if entry.fixed_batch and (size != entry.fixed_batch or rows % size):
            raise InvalidArgumentError(f"{rows} rows in batches of {size}; the model was compiled for batches of {entry.fixed_batch} only; "
                                       "compile it with batch='dynamic'")  # fmt: skip
        return size

    def _filled_columns(self, entry: Entry, x: Any, y: Any, sample_weight: Any, kind: str = "x") -> list[Column]:
        columns = self._columns(entry, x, y, sample_weight)
        if len(columns[0]) == 0:
            raise InvalidArgumentError(f"{kind} has no rows; expected at least one")
        return columns

    def predict(self, x: Any, batch_size: Optional[int] = None, *, dlpack: bool = False, out: Any = None) -> Any:
        """The outputs for all rows: an array, a list of them or, as in Keras, the dictionary that the
        model was made with. `dlpack`: objects with `__dlpack__`
        (for bfloat16 outputs, which NumPy does not export) instead of NumPy arrays. `out`: what to
        write them into, one for each output: NumPy arrays, or tensors of the model's GPU."""
        entry = self._entries["predict"]
        columns = self._columns(entry, x)
        rows = len(columns[0])
        size = self._batch_size(entry, batch_size, rows)
        outputs = self._outputs(entry, rows)
        if entry.fixed_batch:
            outputs = [np.empty((rows, *output.shape[1:]), output.dtype) for output in outputs]
        if out is not None:
            if dlpack:
                raise InvalidArgumentError("out and dlpack are both given; expected one of them")
            targets = by_name(out, entry.outputs, self.output_names, "out")
            outputs = [check_target(target, like, f"out '{name}'") for target, like, name in zip(targets, outputs, self.output_names)]
        for begin in range(0, rows, size):
            end = min(begin + size, rows)
            self._run(entry, [column.slice(begin, end) for column in columns], [output[begin:end] for output in outputs], end - begin)
        if out is not None:
            return out
        results = [as_dlpack(output) for output in outputs] if dlpack else outputs
        return structure.pack(results, self._structure)

    __call__ = predict

    def evaluate(self, x: Any, y: Any, batch_size: Optional[int] = None, *, sample_weight: Any = None, return_dict: bool = False) -> Any:
        """Loss and metrics over all rows, in Keras's forms."""
        entry = self._entry("evaluate")
        columns = self._filled_columns(entry, x, y, sample_weight)
        logs = training.evaluate_columns(self, entry, columns, self._batch_size(entry, batch_size, len(columns[0])))
        if return_dict:
            return dict(sorted(logs.items()))  # the order of Keras's
        values = list(logs.values())
        return values[0] if len(values) == 1 else values

    def gradients(self, x: Any, y: Any, *, sample_weight: Any = None) -> Gradients:
        """Of the loss, in training mode, over all rows as one batch; nothing is updated but what the
        forward pass changes (moving statistics, random states)."""
        entry = self._entry("gradients")
        columns = self._filled_columns(entry, x, y, sample_weight)
        rows = len(columns[0])
        outputs = self._outputs(entry, rows)
        self._run(entry, [column.slice(0, rows) for column in columns], outputs, rows)
        named = dict(zip((tensor["name"] for tensor in entry.outputs), outputs))

        def select(prefix: str) -> dict[str, np.ndarray]:
            return {name[len(prefix) :]: value for name, value in named.items() if name.startswith(prefix)}

        return Gradients(float(named["loss"]), select("grad:"), select("gradx:"), [named[f"out{i}"] for i in range(len(self.output_names))])

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: Optional[int] = None,
        epochs: int = 1,
        verbose: Union[int, str] = "auto",
        callbacks: Union[Callback, Sequence[Callback], None] = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: Optional[Mapping[int, float]] = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        validation_batch_size: Optional[int] = None,
        validation_freq: Union[int, Collection[int]] = 1,
    ) -> History:
        """Trains as Keras's `fit` does; the same rows and bytes as `mpc-run train` with this seed."""
        return training.fit(self, x, y, batch_size=batch_size, epochs=epochs, verbose=verbose, callbacks=callbacks,
                            validation_split=validation_split, validation_data=validation_data, shuffle=shuffle, class_weight=class_weight,
                            sample_weight=sample_weight, initial_epoch=initial_epoch, validation_batch_size=validation_batch_size,
                            validation_freq=validation_freq)  # fmt: skip

    # ---- State ---------------------------------------------------------------------------------------

    @property
    def weights(self) -> list[Variable]:
        return [variable for variable in self.variables if variable.role in ("trainable", "non_trainable")]

    @property
    def trainable_variables(self) -> list[Variable]:
        return [variable for variable in self.variables if variable.role == "trainable"]

    def __getitem__(self, path: str) -> Variable:
        for variable in self.variables:
            if variable.path == path:
                return variable
        raise NotFoundError(f"{self.name}: no variable '{path}'; it has: {', '.join(variable.path for variable in self.variables)}")

    def get_weights(self) -> list[np.ndarray]:
        return [variable.numpy() for variable in self.weights]

    def set_weights(self, weights: Sequence[Any]) -> None:
        if len(weights) != len(self.weights):
            raise InvalidArgumentError(f"{len(weights)} arrays given; expected {len(self.weights)}")
        for variable, value in zip(self.weights, weights):
            variable.assign(value)

    def initialize(self, seed: int = 0) -> None:
        """Every variable from its initializer."""
        check_range("seed", seed, 1 << 64)
        self._context.initialize(seed)

    @property
    def learning_rate(self) -> float:
        return self._context.get_learning_rate()

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        try:
            value = float(rate)
        except (TypeError, ValueError):
            raise InvalidArgumentError(f"learning_rate is {rate!r}; expected a number") from None
        self._context.set_learning_rate(value)

    @property
    def loss_scale(self) -> float:
        return self._context.get_loss_scale()[0]

    def workspace_bytes(self, rows: int, entry: str = "predict") -> int:
        """Scratch memory of a call with that many rows."""
        return self._model.workspace_bytes(self._entry(entry).index, rows)

    def save(self, path: PathLike) -> None:
        """Variables, optimizer and random states: `.safetensors` (exactly, with a checksum), or by
        mpc-convert `.keras`, `.h5`, `.weights.h5`, `.npz`."""
        target = os.fsdecode(path)
        if target.endswith(".safetensors"):
            return self._context.save(target)
        if self._source is None:
            raise FailedPreconditionError(f"{target}: only .safetensors can be written of a model that was loaded; compile it with mpc.compile")
        return self._convert(target, self._source)

    def _convert(self, target: str, source: Source) -> None:
        with tempfile.TemporaryDirectory(prefix="mpc-save-") as scratch:
            state = os.path.join(scratch, "state.safetensors")
            self._context.save(state)
            tools.run("mpc-convert", [state, "--model", source.path, "-o", target, *_training_options(source, scratch)])

    def load(self, path: PathLike) -> None:
        """What `save` wrote, a checkpoint of mpc-run, or weights of Keras."""
        source = os.fsdecode(path)
        with contextlib.ExitStack() as stack:
            if _is_of_keras(source):
                scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="mpc-load-"))
                state = os.path.join(scratch, "state.safetensors")
                model = ["--model", self._source.path, *_training_options(self._source, scratch)] if self._source else []
                tools.run("mpc-convert", [source, *model, "-o", state])
                source = state
            self._context.load(source)


def _training_options(source: Source, scratch: str) -> Iterator[str]:
    from .compiler import _option

    return (f"--{key}={_option(value, scratch, key)}" for key, value in source.options.items())


def _is_of_keras(path: str) -> bool:
    """By the content: archives (.keras, .npz) and HDF5 files go through mpc-convert."""
    try:
        with open(path, "rb") as file:
            return file.read(8).startswith((b"PK", b"\x89HDF"))
    except OSError:
        return False  # whoever reads it says why


def load(path: PathLike, *, device: str = "cpu", threads: int = 0, seed: Optional[int] = None) -> Model:
    """A compiled model: the folder that mpcc wrote, or libNAME.so. `threads`: 0 = all."""
    return Model(path, device=device, threads=threads, seed=seed)
