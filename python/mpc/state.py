# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model keeps between calls: variables, the optimizer's state, and the files that hold them."""

from __future__ import annotations

import contextlib
import os
import tempfile
import warnings
from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

import numpy as np

from . import _runtime, tools
from .errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, UnavailableError
from .optimizer import Optimizer
from .variable import Variable, make_variable

PathLike = Union[str, "os.PathLike[str]"]


def check_range(name: str, value: int, end: int) -> None:
    if not 0 <= value < end:
        raise InvalidArgumentError(f"{name} is {value}; expected an integer from 0 to {end - 1}")


@dataclass
class Source:
    """What a model was compiled of, for writing it back."""

    path: str
    options: Mapping[str, Any] = field(default_factory=dict)


class State:
    """Variables in memory of the runtime. `Model` is one, and adds what computes with them."""

    name: str
    _context: _runtime.Context
    _source: Optional[Source]
    _keras_model: Any = None  # the live model that this one was made of

    def _make_variables(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.variables: list[Variable] = [make_variable(self._context, i, row) for i, row in enumerate(rows) if row["role"] != "shadow"]
        slots = [variable for variable in self.variables if variable.role == "optimizer"]
        self.optimizer: Optional[Optimizer] = Optimizer(self._context, self.trainable_variables, slots) if slots else None

    @property
    def weights(self) -> list[Variable]:
        return [variable for variable in self.variables if variable.role in ("trainable", "non_trainable")]

    @property
    def trainable_variables(self) -> list[Variable]:
        return [variable for variable in self.variables if variable.role == "trainable"]

    trainable_weights = trainable_variables

    @property
    def non_trainable_variables(self) -> list[Variable]:
        return [variable for variable in self.weights if not variable.trainable]

    non_trainable_weights = non_trainable_variables

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
    def learning_rate(self, rate: Any) -> None:
        try:
            value = float(rate)
        except (TypeError, ValueError):
            raise InvalidArgumentError(f"learning_rate is {rate!r}; expected a number") from None
        self._context.set_learning_rate(value)

    @property
    def loss_scale(self) -> float:
        return self._context.get_loss_scale()[0]

    def save(self, filepath: PathLike, overwrite: bool = True) -> None:
        """Variables, optimizer and random states: `.safetensors` (exactly, with a checksum), or by
        mpc-convert `.keras`, `.h5`, `.weights.h5`, `.npz`; of an ONNX model weights alone, `.onnx`, `.npz`."""
        target = os.fsdecode(filepath)
        if not overwrite and os.path.lexists(target):
            raise UnavailableError(f"{target}: exists, and overwrite is False; expected another path")
        if target.endswith(".safetensors"):
            self._context.save(target)
        elif self._source is None:
            raise FailedPreconditionError(f"{target}: only .safetensors can be written of a model that was loaded; compile it with mpc.compile")
        else:
            self._convert(target, self._source)

    def save_weights(self, filepath: PathLike, overwrite: bool = True) -> None:
        """As Keras: variables and the optimizer's state, without the architecture."""
        target = os.fsdecode(filepath)
        if target.endswith((".keras", ".onnx")):
            raise InvalidArgumentError(f"{target}: holds whole models; expected .weights.h5, .safetensors or .npz; save() writes it")
        self.save(target, overwrite)

    def _convert(self, target: str, source: Source) -> None:
        with tempfile.TemporaryDirectory(prefix="mpc-save-") as scratch:
            state = os.path.join(scratch, "state.safetensors")
            self._context.save(state)
            tools.run("mpc-convert", [state, "--model", source.path, "-o", target, *_training_options(source, scratch)])

    def load(self, filepath: PathLike) -> None:
        """What `save` wrote, a checkpoint of mpc-run, or weights of Keras. A state of another optimizer is left out,
        with a warning, as Keras leaves it out."""
        source = os.fsdecode(filepath)
        with contextlib.ExitStack() as stack:
            if _is_of_keras(source):
                scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="mpc-load-"))
                state = os.path.join(scratch, "state.safetensors")
                model = ["--model", self._source.path, *_training_options(self._source, scratch)] if self._source else []
                tools.run("mpc-convert", [source, *model, "-o", state])
                source = state
            self._warn_of_optimizer(os.fsdecode(filepath), *self._context.load(source))

    load_weights = load

    def _warn_of_optimizer(self, shown: str, taken: int, missing: int, ignored: int) -> None:
        own = sum(variable.role == "optimizer" for variable in self.variables)
        if own and (missing or ignored):
            warnings.warn(f"{shown}: the saved optimizer has {taken + ignored} variables, of which '{self.optimizer.name}' has {taken} among its "  # type: ignore[union-attr]
                          f"{own}; the others keep the values that they had. Expected the state of the same optimizer", stacklevel=3)  # fmt: skip

    def write_back(self, model: Any = None) -> Any:
        """Writes the weights into the live Keras model that this one was made of, or into `model` of the same architecture."""
        from . import keras

        return keras.write_back(self, model)


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
