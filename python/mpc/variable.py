# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variables of a model: read and written where they are, in the dtype that they have."""

from __future__ import annotations

import operator
from typing import Any, Mapping, Optional

import numpy as np

from . import _runtime
from .arrays import bits, convert, numpy_dtype, to_numpy
from .errors import InvalidArgumentError


class Variable:
    """One variable of a model: `path`, `shape`, `dtype`, `role`."""

    # A reference to the model, which has its variables, would keep it and its memory until Python
    # looks for cycles; so only the context that runs is kept.
    def __init__(self, context: _runtime.Context, index: int, table: Mapping[str, Any]) -> None:
        self._context, self._index = context, index
        self.path: str = table["name"]
        self.shape: tuple[int, ...] = tuple(table["shape"])
        self.dtype: np.dtype = numpy_dtype(table["dtype"])
        self.role: str = table["role"]

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    @property
    def trainable(self) -> bool:
        return self.role == "trainable"

    def numpy(self) -> np.ndarray:
        """A copy of the value."""
        value = np.empty(self.shape, self.dtype)
        self._context.get(self._index, bits(value))
        return value

    @property
    def value(self) -> np.ndarray:
        return self.numpy()

    def assign(self, value: Any) -> None:
        array = convert(to_numpy(value), self.dtype, self.path)
        if array.shape != self.shape:
            raise InvalidArgumentError(f"{self.path}: has shape {array.shape}; expected {self.shape}")
        self._context.set(self._index, bits(np.ascontiguousarray(array)))

    def assign_add(self, value: Any) -> None:
        self.assign(self + value)

    def assign_sub(self, value: Any) -> None:
        self.assign(self - value)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if copy is False:
            raise ValueError(f"{self.path}: its memory is the model's; expected copy=None or True")
        value = self.numpy()
        return value if dtype is None else value.astype(dtype)

    def __add__(self, other: Any) -> np.ndarray:
        result: np.ndarray = self.numpy() + np.asarray(other)
        return result

    def __sub__(self, other: Any) -> np.ndarray:
        result: np.ndarray = self.numpy() - np.asarray(other)
        return result

    def __mul__(self, other: Any) -> np.ndarray:
        result: np.ndarray = self.numpy() * np.asarray(other)
        return result

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}, shape={self.shape}, dtype={self.dtype}, {self.role}>"


class Scalar(Variable):
    """A variable of one number, which counts as that number."""

    def _number(self) -> Any:
        return self.numpy()[()]

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __index__(self) -> int:
        return operator.index(self._number())

    def __bool__(self) -> bool:
        return bool(self._number())

    def __format__(self, form: str) -> str:
        return format(self._number(), form)

    def __eq__(self, other: Any) -> Any:
        return self is other or self._number() == other

    def __lt__(self, other: Any) -> Any:
        return self._number() < other

    def __gt__(self, other: Any) -> Any:
        return self._number() > other

    def __le__(self, other: Any) -> Any:
        return self._number() <= other

    def __ge__(self, other: Any) -> Any:
        return self._number() >= other

    def __radd__(self, other: Any) -> Any:
        return other + self._number()

    def __rsub__(self, other: Any) -> Any:
        return other - self._number()

    def __rmul__(self, other: Any) -> Any:
        return other * self._number()

    def __truediv__(self, other: Any) -> Any:
        return self._number() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self._number()

    def __hash__(self) -> int:
        return id(self)


def make_variable(context: _runtime.Context, index: int, table: Mapping[str, Any]) -> Variable:
    return (Variable if table["shape"] else Scalar)(context, index, table)
