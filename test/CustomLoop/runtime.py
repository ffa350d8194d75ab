# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libmpcrt through ctypes: tables, contexts, entries and the custom training loop."""
import ctypes
import os

import numpy as np

c_int64_p = ctypes.POINTER(ctypes.c_int64)
# Values of include/mpc-rt/dtype.inc; bfloat16 as its bits.
DTYPES = [np.float32, np.uint16, np.float16, np.float64, np.int8, np.uint8, np.int16, np.uint16,
          np.int32, np.uint32, np.int64, np.uint64, np.bool_]  # fmt: skip
FAILED_PRECONDITION = 4
METRIC, SHADOW = 3, 5


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_uint32), ("rank", ctypes.c_uint32),
                ("dims", c_int64_p), ("index_limit", ctypes.c_int64)]  # fmt: skip

    def shape(self, batch):
        dims = [self.dims[i] for i in range(self.rank)]
        return [batch if extent == -1 else extent for extent in dims]


class Variable(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("role", ctypes.c_uint32), ("initializer", ctypes.c_uint32),
                ("a", ctypes.c_double), ("b", ctypes.c_double), ("stream", ctypes.c_uint64),
                ("shadow_of", ctypes.c_int32), ("reserved", ctypes.c_uint32)]  # fmt: skip


class Entry(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("fn", ctypes.c_void_p),
                ("input_count", ctypes.c_uint32), ("output_count", ctypes.c_uint32),
                ("inputs", ctypes.POINTER(Tensor)), ("outputs", ctypes.POINTER(Tensor)),
                ("arena_fixed", ctypes.c_uint64), ("arena_per_sample", ctypes.c_uint64)]  # fmt: skip


class Executable(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("abi_version", ctypes.c_uint32),
                ("model_name", ctypes.c_char_p), ("compiler_version", ctypes.c_char_p),
                ("source_hash", ctypes.c_char_p), ("manifest", ctypes.c_char_p),
                ("variable_count", ctypes.c_uint32), ("entry_count", ctypes.c_uint32),
                ("metric_count", ctypes.c_uint32), ("kernel_count", ctypes.c_uint32),
                ("variables", ctypes.POINTER(Variable)),
                ("entries", ctypes.POINTER(Entry))]  # fmt: skip


class LossScale(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("dynamic", ctypes.c_int32),
                ("scale", ctypes.c_float), ("reserved", ctypes.c_uint32),
                ("counter", ctypes.c_int64)]  # fmt: skip


class Applied(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("applied", ctypes.c_int32),
                ("learning_rate", ctypes.c_float), ("reserved", ctypes.c_uint32)]  # fmt: skip


class Failed(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Runtime:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for name in ["mpc_rt_last_error"]:
            getattr(self.library, name).restype = ctypes.c_char_p
        for name in ["mpc_rt_model_executable", "mpc_rt_context_gradient",
                     "mpc_rt_context_variable"]:
            getattr(self.library, name).restype = ctypes.c_void_p

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise Failed(status, self.library.mpc_rt_last_error().decode())


def pointers(arrays):
    return (ctypes.c_void_p * max(1, len(arrays)))(*[array.ctypes.data for array in arrays])


class Context:
    """One model in one context, started from the file's values."""

    def __init__(self, runtime, folder):
        self.runtime = runtime
        self.model, self.handle = ctypes.c_void_p(), ctypes.c_void_p()
        runtime.call("mpc_rt_model_load", os.fsencode(folder), ctypes.byref(self.model))
        runtime.call("mpc_rt_context_create", self.model, None, ctypes.byref(self.handle))
        runtime.call("mpc_rt_context_load_initial", self.handle, None)
        table = runtime.library.mpc_rt_model_executable(self.model)
        self.tables = Executable.from_address(table)

    def close(self):
        self.runtime.library.mpc_rt_context_release(self.handle)
        self.runtime.library.mpc_rt_model_release(self.model)

    def entry(self, name):
        for i in range(self.tables.entry_count):
            if self.tables.entries[i].name == name.encode():
                return i, self.tables.entries[i]
        return None, None

    def variables(self):
        """name: array over the runtime's memory."""
        found = {}
        for i in range(self.tables.variable_count):
            tensor = self.tables.variables[i].tensor
            size = ctypes.c_size_t()
            address = self.runtime.library.mpc_rt_context_variable(self.handle, i, ctypes.byref(size))
            content = (ctypes.c_char * size.value).from_address(address) if size.value else b""
            name = f"{self.tables.variables[i].role}/{tensor.name.decode()}"
            found[name] = np.frombuffer(content, DTYPES[tensor.dtype])
        return found

    def outputs(self, entry, batch):
        return [np.zeros(entry.outputs[i].shape(batch), DTYPES[entry.outputs[i].dtype])
                for i in range(entry.output_count)]

    def run(self, name, inputs, batch):
        index, entry = self.entry(name)
        outputs = self.outputs(entry, batch)
        self.runtime.call("mpc_rt_context_run", self.handle, index, pointers(inputs),
                          pointers(outputs), ctypes.c_int64(batch))
        return {entry.outputs[i].name.decode(): outputs[i] for i in range(entry.output_count)}

    def forward(self, inputs, batch):
        _, predict = self.entry("predict")
        outputs = [np.zeros((), np.float32)] + self.outputs(predict, batch)
        self.runtime.call("mpc_rt_context_forward", self.handle, pointers(inputs),
                          pointers(outputs), ctypes.c_int64(batch))
        return outputs

    def gradient_count(self):
        return self.runtime.library.mpc_rt_model_gradient_count(self.model)

    def gradients(self, batch=1):
        """Buffers for gradients, by path."""
        _, backward = self.entry("train_backward")
        names = [backward.outputs[i].name.decode() for i in range(backward.output_count)]
        return {name[5:]: np.full(backward.outputs[i].shape(batch), 77,
                                  DTYPES[backward.outputs[i].dtype])
                for i, name in enumerate(names) if name.startswith("grad:")}

    def backward(self, gradients=None):
        self.runtime.call("mpc_rt_context_backward", self.handle, gradients)

    def unscale(self, gradients=None):
        finite = ctypes.c_int32(-1)
        self.runtime.call("mpc_rt_context_unscale_gradients", self.handle, gradients,
                          ctypes.byref(finite))
        return finite.value

    def apply(self, gradients=None):
        applied = Applied(ctypes.sizeof(Applied))
        self.runtime.call("mpc_rt_context_apply_gradients", self.handle, gradients,
                          ctypes.byref(applied))
        return applied

    def loss_scale(self):
        value = LossScale(ctypes.sizeof(LossScale))
        self.runtime.call("mpc_rt_context_get_loss_scale", self.handle, ctypes.byref(value))
        return value

    def set_loss_scale(self, scale, counter):
        value = LossScale(ctypes.sizeof(LossScale), 1, scale, 0, counter)
        self.runtime.call("mpc_rt_context_set_loss_scale", self.handle, ctypes.byref(value))
