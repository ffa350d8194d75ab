# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a compiled model once, by the C ABI, in a child process: a crash is an outcome like others."""

import ctypes
import json
import multiprocessing
import os

import ml_dtypes  # noqa: F401, registers bfloat16 with NumPy
import numpy as np
from comparison import carrier


class Unfit(Exception):
    """What went wrong, and that it did, after mpcc had compiled the model."""


def _dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def _check(runtime, status, what):
    if status != 0:
        raise Unfit(f"{what}: {runtime.mpc_rt_last_error().decode()}")


def as_code_points(array, width):
    """Texts as the library has them: code points in a dimension more, and zeros behind them."""
    array = np.asarray(array).astype(str)
    longest = max((len(text) for text in array.ravel()), default=0)
    if longest > width:
        raise Unfit(f"a text has {longest} characters; the library takes {width}")
    return np.ascontiguousarray(array.astype(f"<U{width}")).view(np.int32).reshape(*array.shape, width)


def as_texts(points):
    width = points.shape[-1]
    return np.ascontiguousarray(points, np.int32).view(f"<U{width}").reshape(points.shape[:-1])


def _buffers(described, arrays, batch):
    """Inputs as the library has them."""
    buffers = []
    for each in described:
        array = arrays.get(each["name"])
        if not isinstance(array, np.ndarray):
            raise Unfit(f"the input {each['name']} is no tensor, and mpcc compiled it")
        if each.get("text"):
            array = as_code_points(array, each["shape"][-1])
        if carrier(array.dtype) != each["dtype"] or [batch if extent is None else extent for extent in each["shape"]] != list(array.shape):
            raise Unfit(f"the input {each['name']} is {carrier(array.dtype)} {list(array.shape)}; the library takes {each['dtype']} {each['shape']}")
        buffers.append(np.ascontiguousarray(array.astype(_dtype(each["dtype"]))).reshape(array.shape))
    return buffers


def _pointers(arrays):
    return (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays))


def _cut(described, outputs):
    """Bounded outputs as large as their extents, which are no outputs of the file, say. Behind them are zeros."""
    extents = {each["bounded"]["extent_output"] for each in described if "bounded" in each}
    for i, (each, output) in enumerate(zip(described, outputs)):
        if "bounded" in each:
            extent, axis = int(outputs[each["bounded"]["extent_output"]]), each["bounded"]["axis"]
            if not 0 <= extent <= output.shape[axis]:
                raise Unfit(f"output {i} has the extent {extent} of at most {output.shape[axis]}")
            kept, rest = np.split(output, [extent], axis)
            if np.any(rest != 0):
                raise Unfit(f"output {i} has more than zeros behind its extent {extent}")
            outputs[i] = kept
    whole = [as_texts(output) if each.get("text") else output for each, output in zip(described, outputs)]
    return [output for i, output in enumerate(whole) if i not in extents]


def run(binaries, compiled, arrays, batch):
    """The outputs of the entry predict, of so many samples. What is left in them is no zero before."""
    with open(os.path.join(compiled, "m.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    inputs = _buffers(manifest["inputs"], arrays, batch)
    outputs = [np.ones([batch if extent is None else extent for extent in each["shape"]], _dtype(each["dtype"])) for each in manifest["outputs"]]
    runtime = ctypes.CDLL(os.path.join(os.path.dirname(binaries), "lib", "libmpcrt.so.1"))
    runtime.mpc_rt_last_error.restype = ctypes.c_char_p
    model, context, entry = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint32()
    _check(runtime, runtime.mpc_rt_model_load(compiled.encode(), ctypes.byref(model)), "load")
    _check(runtime, runtime.mpc_rt_context_create(model, None, ctypes.byref(context)), "context")
    if os.path.exists(os.path.join(compiled, "m.safetensors")):
        _check(runtime, runtime.mpc_rt_context_load_initial(context, ctypes.byref(ctypes.c_int32())), "weights")
    _check(runtime, runtime.mpc_rt_find_entry(model, b"predict", ctypes.byref(entry)), "entry")
    status = runtime.mpc_rt_context_run(context, entry, _pointers(inputs), _pointers(outputs), ctypes.c_int64(batch))
    _check(runtime, status, "predict")
    return _cut(manifest["outputs"], outputs)


def _answer(pipe, *arguments):
    try:
        pipe.send(run(*arguments))
    except Unfit as unfit:
        pipe.send(str(unfit))


def run_apart(binaries, compiled, arrays, seconds, batch=1):
    """The same in a child. Raises Unfit where it ends without an answer."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_answer, args=(there, binaries, compiled, arrays, batch))
    child.start()
    there.close()
    try:
        answer = here.recv() if here.poll(seconds) else f"has not ended after {seconds} s"
    except EOFError:
        answer = None
    if child.is_alive():
        child.join(1)
        child.kill()
    child.join()
    if answer is None:
        raise Unfit(f"the library crashed: exit status {child.exitcode}")
    if isinstance(answer, str):
        raise Unfit(answer)
    return answer
