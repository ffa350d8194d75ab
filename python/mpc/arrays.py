# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of the caller as models take them: without copies where dtype and layout are right."""

from __future__ import annotations

import warnings
from typing import Any, Mapping, Sequence, Union

import ml_dtypes
import numpy as np

from . import _runtime
from .errors import InvalidArgumentError
from .texts import code_points

bfloat16 = np.dtype(ml_dtypes.bfloat16)


def numpy_dtype(name: str) -> np.dtype:
    return bfloat16 if name == "bfloat16" else np.dtype(name)


def is_floating(dtype: np.dtype) -> bool:
    return dtype == bfloat16 or np.issubdtype(dtype, np.floating)


class DeviceArray:
    """A tensor in memory of a GPU (or that CUDA manages): dense rows that can be cut and reshaped."""

    kinds = (2, 3, 13)  # DLPack's kDLCUDA, kDLCUDAHost, kDLCUDAManaged

    def __init__(self, tensor: _runtime.DeviceTensor) -> None:
        self.tensor = tensor
        self.shape: tuple[int, ...] = tensor.shape
        self.dtype = numpy_dtype(tensor.dtype)
        self.ndim = len(self.shape)

    @property
    def place(self) -> str:
        return ":".join(map(str, self.tensor.device))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> "DeviceArray":
        begin, end, _ = rows.indices(len(self))
        return DeviceArray(self.tensor.rows(begin, max(begin, end)))

    def reshape(self, shape: Sequence[int]) -> "DeviceArray":
        return DeviceArray(self.tensor.reshape(list(shape)))


def to_numpy(value: Any) -> np.ndarray:
    """NumPy arrays as they are; anything with DLPack (JAX, PyTorch, CuPy on the host) as a view of
    its memory; lists and the like as new arrays."""
    array = to_array(value)
    if isinstance(array, DeviceArray):
        raise InvalidArgumentError(f"the tensor is on DLPack's device {array.place}; expected memory of the host (1:0); copy it there first")
    return array


def to_array(value: Any) -> "Union[np.ndarray, DeviceArray]":
    """As `to_numpy`, but what is in memory of a GPU stays there."""
    if isinstance(value, (np.ndarray, DeviceArray)):
        return value
    if hasattr(value, "__dlpack__") and not isinstance(value, np.generic):
        tensor = value.detach() if hasattr(value, "detach") else value
        try:
            if hasattr(tensor, "__dlpack_device__") and int(tensor.__dlpack_device__()[0]) in DeviceArray.kinds:
                return DeviceArray(_runtime.DeviceTensor(tensor))
            name, bits = _runtime.view_tensor(tensor)
        except (RuntimeError, TypeError, ValueError, BufferError) as problem:
            raise InvalidArgumentError(f"the tensor cannot be read: {problem}; expected one in the memory of the host or of a CUDA device") from problem
        return bits.view(bfloat16) if name == "bfloat16" else bits
    kind = type(value)
    if hasattr(kind, "__getitem__") and not hasattr(kind, "__iter__") and not hasattr(kind, "__array__"):
        # NumPy would ask for items until there are none, which a data set need not say.
        raise InvalidArgumentError(f"is a {kind.__module__}.{kind.__name__}, which gives rows by number; expected an array, or batches{way_out(value)}")
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError) as problem:
        raise InvalidArgumentError(f"the {type(value).__name__} is no array: {problem}; expected rows of one shape") from problem


def as_dlpack(array: np.ndarray) -> Any:
    """The array as an object with `__dlpack__`, also where NumPy cannot (bfloat16). No copy."""
    array = np.ascontiguousarray(array)
    name = "bfloat16" if array.dtype == bfloat16 else array.dtype.name
    return _runtime.export_tensor(bits(array), name)


def bits(array: np.ndarray) -> np.ndarray:
    """The same memory under a dtype that Python's buffer protocol knows."""
    return array.view(np.uint16) if array.dtype == bfloat16 else array


def check_numbers(array: Any, dtype: np.dtype, place: str) -> None:
    """Integers, floats and flags, those of ml_dtypes (NumPy's kind V) among them. Anything else NumPy may convert by leaving
    something out: imaginary parts, units of time, names of fields."""
    given = array.dtype
    if given.kind not in "biufV" or given.type is np.void:
        raise InvalidArgumentError(f"{place}: is an array of {given}; expected numbers that fit {dtype}")


def convert(array: Any, dtype: np.dtype, place: str) -> Any:
    """As Keras converts inputs: numbers to floats by way of float32; never floats to integers."""
    if array.dtype == dtype:
        return array
    if isinstance(array, DeviceArray):
        raise InvalidArgumentError(f"{place}: is {array.dtype} on DLPack's device {array.place}; expected {dtype} there; convert it first")
    check_numbers(array, dtype, place)
    if is_floating(dtype):
        if dtype.itemsize == 2 and array.dtype != np.float32:
            array = array.astype(np.float32)
        return array.astype(dtype)
    if is_floating(array.dtype):
        raise InvalidArgumentError(f"{place}: is {array.dtype}; expected integers ({dtype}); convert it first")
    if dtype != np.bool_ and array.dtype != np.bool_ and array.size:
        limits = np.iinfo(dtype)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise InvalidArgumentError(f"{place}: has values that {dtype} cannot hold")
    return array.astype(dtype)


def fit_weights(value: Any, tensor: Mapping[str, Any], place: str) -> np.ndarray:
    """Sample weights as the model takes them: one per row, or dimensions that broadcast to the elements of the loss."""
    weights, elements = to_numpy(value), tuple(tensor["shape"][1:])
    given = weights.shape[1:]
    if weights.ndim and not given:
        given = (1,) * len(elements)
    elif len(given) == len(elements) + 1 and given[-1] == 1:
        given = given[:-1]
    elif len(given) + 1 == len(elements) and elements[-1] == 1:
        given = (*given, 1)
    if not weights.ndim or len(given) != len(elements) or any(one not in (1, other) for one, other in zip(given, elements)):
        expected = "(rows,)" + (f" or {('rows', *elements)}, a weight per row or per element of the loss" if elements else "")
        raise InvalidArgumentError(f"{place}: has shape {weights.shape}; expected {expected}; reshape it")
    return np.broadcast_to(weights.reshape(len(weights), *given), (len(weights), *elements))


def check_target(target: Any, like: np.ndarray, place: str) -> "Union[np.ndarray, DeviceArray]":
    """What an output may be written into, where it is."""
    array = to_array(target)
    if not isinstance(target, np.ndarray) and not isinstance(array, DeviceArray):
        raise InvalidArgumentError(f"{place}: is a {type(target).__name__}; expected a NumPy array or a tensor of a CUDA device")
    if array.dtype != like.dtype or array.shape != like.shape:
        raise InvalidArgumentError(f"{place}: is {array.dtype} of shape {array.shape}; expected {like.dtype} of shape {like.shape}")
    if isinstance(array, np.ndarray) and not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
        raise InvalidArgumentError(f"{place}: expected memory that is dense, aligned and may be written")
    return array


_noted: set[str] = set()


def labels_of(array: np.ndarray, dtype: np.dtype, place: str) -> np.ndarray:
    """Floats that are integers as such: Keras casts labels. Others it cuts off, and they are refused."""
    whole = np.rint(array)
    wrong = (whole != array) | ~(np.abs(array) < 2**62)
    if wrong.any():
        number = int(np.flatnonzero(wrong.reshape(len(array), -1).any(axis=1))[0])
        raise InvalidArgumentError(f"{place}: is {array.dtype} and row {number} is {array[number]}; expected integers ({dtype}), or floats that are integers")
    if place not in _noted:
        _noted.add(place)
        warnings.warn(f"{place}: is {array.dtype}, where the model has integers ({dtype}); its values are integers and are taken as such", stacklevel=2)
    labels: np.ndarray = convert(whole.astype(np.int64), dtype, place)
    return labels


def check_steps(value: Any, name: str) -> "Union[int, None]":
    """A number of batches, or none."""
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 1:
        raise InvalidArgumentError(f"{name} is {value!r}; expected an integer of at least 1")
    return int(value.__index__())


def way_out(value: Any) -> str:
    """What makes an array of what is none."""
    kind = type(value)
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        return "; it is sparse: pass .toarray()"
    if hasattr(value, "to_tensor") and hasattr(value, "row_splits"):
        return "; it is ragged: pass .to_tensor()"
    if hasattr(value, "iloc"):
        return "; convert its columns first, as .astype('float32') does"
    if callable(value):
        return "; pass what it returns, where that is batches: call it"
    if hasattr(kind, "__getitem__") and hasattr(kind, "__len__") and not hasattr(kind, "__iter__"):
        return "; pass a torch.utils.data.DataLoader of it, or make it a keras.utils.PyDataset"
    return "; pass what numpy.asarray takes, or an iterable of batches"


def _class_hint(target: Any, dtype: np.dtype, rows: tuple[int, ...]) -> str:
    """The way out where classes are written as the other loss takes them."""
    if not is_floating(dtype) and target.shape[1:-1] == rows:
        return "; where it is one-hot, pass .argmax(axis=-1), or compile the model with categorical_crossentropy"
    if is_floating(dtype) and target.shape[1:] == rows[:-1] and not is_floating(target.dtype):
        return f"; where it is numbers of classes, pass keras.utils.to_categorical(y, {rows[-1]}), or compile the model with sparse_categorical_crossentropy"
    return ""


class Column:
    """All rows of one input, target or weight, and what the model wants of them."""

    def __init__(self, value: Any, tensor: Mapping[str, Any], place: str, *, is_target: bool = False) -> None:
        self.place = place
        self.dtype = numpy_dtype(tensor["dtype"])
        try:
            self.array = code_points(value, tensor["shape"][-1], place) if tensor.get("text") else to_array(value)
        except InvalidArgumentError as problem:
            raise InvalidArgumentError(f"{place}: {problem}") from problem
        rows = tuple(tensor["shape"][1:])
        if self.array.ndim == 0:
            is_scalar = self.array.dtype.kind in "biufcV"
            kind = "a scalar" if is_scalar else f"a {type(value).__module__}.{type(value).__name__}".replace(" builtins.", " ")
            raise InvalidArgumentError(f"{place}: is {kind}; expected an array with rows of shape {rows}{'' if is_scalar else way_out(value)}")
        try:
            check_numbers(self.array, self.dtype, place)
        except InvalidArgumentError as problem:
            raise InvalidArgumentError(f"{problem}{way_out(value) if hasattr(value, 'iloc') else ''}") from None
        if self.array.shape[1:] != rows:
            squeezed = tuple(extent for extent in self.array.shape[1:] if extent != 1)
            if squeezed != tuple(extent for extent in rows if extent != 1):
                if rows and self.array.shape == rows:
                    raise InvalidArgumentError(f"{place}: is one row of shape {rows}; expected rows of this shape; pass x[None], or batch the data")
                hint = _class_hint(self.array, self.dtype, rows) if is_target else ""
                raise InvalidArgumentError(f"{place}: has rows of shape {self.array.shape[1:]}; expected {rows}{hint}")
            self.array = self.array.reshape((len(self.array), *rows))
        if is_floating(self.array.dtype) and not is_floating(self.dtype):
            if not is_target or isinstance(self.array, DeviceArray):
                raise InvalidArgumentError(f"{place}: is {self.array.dtype}; expected integers ({self.dtype}); convert it first")
            self.array = labels_of(self.array, self.dtype, place)

    def __len__(self) -> int:
        return len(self.array)

    def copied(self) -> "Column":
        """With memory of its own, where it had the caller's."""
        if isinstance(self.array, np.ndarray):
            self.array = self.array.copy()
        return self

    def slice(self, begin: int, end: int) -> Any:
        part = convert(self.array[begin:end], self.dtype, self.place)
        return part.tensor if isinstance(part, DeviceArray) else bits(np.ascontiguousarray(part))

    def rows(self, indices: np.ndarray) -> np.ndarray:
        if isinstance(self.array, DeviceArray):
            raise InvalidArgumentError(f"{self.place}: is on DLPack's device {self.array.place}, where rows cannot be shuffled; "
                                       "expected an array of the host; copy it there, or shuffle it yourself and pass shuffle=False")  # fmt: skip
        return bits(np.ascontiguousarray(convert(np.take(self.array, indices, axis=0), self.dtype, self.place)))


def by_name(value: Any, tensors: Sequence[Mapping[str, Any]], aliases: Sequence[str], kind: str) -> list[Any]:
    """One value per tensor, from a mapping by name, a sequence, or the only one."""
    names = [tensor["name"] for tensor in tensors]
    if isinstance(value, Mapping):
        found = []
        for name, alias in zip(names, aliases):
            if name not in value and alias not in value:
                raise InvalidArgumentError(f"{kind} '{alias}' is missing; given are {', '.join(map(repr, value))}")
            found.append(value[alias] if alias in value else value[name])
        unknown = [key for key in value if key not in names and key not in aliases]
        if unknown:
            raise InvalidArgumentError(f"{kind} {unknown[0]!r} is not of the model; expected {', '.join(map(repr, aliases))}")
        return found
    if len(names) == 1 and not (isinstance(value, (list, tuple)) and len(value) == 1 and hasattr(value[0], "shape")):
        return [value]
    if not isinstance(value, (list, tuple)) or len(value) != len(names):
        given = f"{len(value)} are given" if isinstance(value, (list, tuple)) else "one array is given"
        raise InvalidArgumentError(f"{given}; expected {len(names)} arrays: {', '.join(map(repr, aliases))}")
    return list(value)
