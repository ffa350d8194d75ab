#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DLPack tensors in memory of a GPU: a context of that GPU takes them as inputs and outputs, others
say where they have to be."""

import ctypes
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test"))
sys.path.insert(0, os.path.join(ROOT, "test", "CustomLoop"))
import named_tests  # noqa: E402  pylint: disable=wrong-import-position
from software_device import lines_of  # noqa: E402  pylint: disable=wrong-import-position
from runtime import Context, Failed, Runtime  # noqa: E402  pylint: disable=wrong-import-position

BUILD = os.environ["MPC_BUILD"]
MODEL = os.path.join(ROOT, "examples/c_predict/blobs.json")
CPU, CUDA = 1, 2
FLOAT = 2
ROWS, FEATURES, CLASSES = 5, 4, 3


class ManagedTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
                ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]  # fmt: skip


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("threads", ctypes.c_uint32), ("device", ctypes.c_char_p),
                ("isa", ctypes.c_int32), ("reserved", ctypes.c_uint32), ("seed", ctypes.c_uint64)]  # fmt: skip


class DeviceContext(Context):
    def __init__(self, runtime, folder, device):
        super().__init__(runtime, folder)
        runtime.library.mpc_rt_context_release(self.handle)
        options = Options(ctypes.sizeof(Options), 0, device, -1, 0, 0)
        runtime.call("mpc_rt_context_create", self.model, ctypes.byref(options), ctypes.byref(self.handle))


def tensor(address, device, device_id, shape):
    extents = (ctypes.c_int64 * len(shape))(*shape)
    made = ManagedTensor(address, device, device_id, len(shape), FLOAT, 32, 1, extents, None, 0, None, None)
    made.keep = extents
    return made


class Suite:
    def __init__(self, folder):
        self.log = os.path.join(folder, "log")
        folder = os.path.join(folder, "net")
        os.environ["MPC_FAKE_CUDA_LOG"] = self.log
        subprocess.run([os.path.join(BUILD, "bin", "mpcc"), MODEL, "-q", "--target=cuda:source", "--march=x86-64-v2", "-O0", "--name=net",
                        "-o", folder], check=True)  # fmt: skip
        self.runtime = Runtime(os.path.join(BUILD, "lib", "libmpcrt.so.1"))
        self.host = DeviceContext(self.runtime, folder, b"cpu")
        self.gpu = DeviceContext(self.runtime, folder, b"cuda:0")
        self.cuda, self.stream = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        if self.cuda.cuStreamCreate(ctypes.byref(self.stream), 0):
            raise RuntimeError("no stream")
        self.allocated = []
        self.rows = np.random.default_rng(3).normal(size=(ROWS, FEATURES)).astype(np.float32)
        self.expected = self.gpu.run("predict", [self.rows], ROWS)["out0"]

    def device_memory(self, array):
        address = ctypes.c_uint64()
        for status in [self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(array.nbytes)),
                       self.cuda.cuMemcpyHtoDAsync_v2(address, array.ctypes.data_as(ctypes.c_void_p),
                                                      ctypes.c_size_t(array.nbytes), self.stream),
                       self.cuda.cuStreamSynchronize(self.stream)]:
            if status:
                raise RuntimeError(f"CUDA status {status}")
        self.allocated.append(address)
        return address

    def close(self):
        """The software device counts what is left."""
        for address in self.allocated:
            self.cuda.cuMemFree_v2(address)
        self.cuda.cuStreamDestroy_v2(self.stream)
        self.gpu.close()
        self.host.close()

    def predict(self, context, given, output=None):
        inputs = (ctypes.c_void_p * 1)(ctypes.addressof(given))
        outputs = (ctypes.c_void_p * 1)(output and ctypes.addressof(output))
        index, _ = context.entry("predict")
        self.runtime.call("mpc_rt_context_run_dlpack", context.handle, index, inputs, 1, outputs, 1)
        return ManagedTensor.from_address(outputs[0])

    def test_inputs_and_outputs_on_the_gpu(self):
        source = self.device_memory(self.rows)
        target = self.device_memory(np.zeros((ROWS, CLASSES), np.float32))
        given = tensor(source.value, CUDA, 0, (ROWS, FEATURES))
        made = self.predict(self.gpu, given)
        assert made.device_type == CPU
        values = np.ctypeslib.as_array(ctypes.cast(made.data, ctypes.POINTER(ctypes.c_float)), (ROWS, CLASSES))
        assert values.tobytes() == self.expected.tobytes()
        self.runtime.library.mpc_rt_dlpack_release(ctypes.byref(made))
        self.predict(self.gpu, given, tensor(target.value, CUDA, 0, (ROWS, CLASSES)))
        back = np.zeros_like(self.expected)
        assert self.cuda.cuMemcpyDtoHAsync_v2(back.ctypes.data_as(ctypes.c_void_p), target,
                                              ctypes.c_size_t(back.nbytes), self.stream) == 0  # fmt: skip
        assert self.cuda.cuStreamSynchronize(self.stream) == 0
        assert back.tobytes() == self.expected.tobytes()

    def copies(self, first):
        """What was copied since the log had so many lines."""
        return [line for line in lines_of(self.log)[first:] if line.startswith("do copy")]

    def test_tensors_of_the_gpu_stay_there(self):
        source, target = self.device_memory(self.rows), self.device_memory(np.zeros((ROWS, CLASSES), np.float32))
        given, output = tensor(source.value, CUDA, 0, (ROWS, FEATURES)), tensor(target.value, CUDA, 0, (ROWS, CLASSES))
        self.predict(self.gpu, given, output)  # what a first call moves, too
        before = len(lines_of(self.log))
        self.predict(self.gpu, given, output)
        assert self.copies(before) == [f"do copy on device {array.nbytes}" for array in (self.rows, self.expected)], self.copies(before)

    def test_what_the_default_stream_has_to_do_is_waited_for(self):
        other = np.ascontiguousarray(self.rows[::-1])
        source, target = self.device_memory(self.rows), self.device_memory(np.zeros((ROWS, CLASSES), np.float32))
        given, output = tensor(source.value, CUDA, 0, (ROWS, FEATURES)), tensor(target.value, CUDA, 0, (ROWS, CLASSES))
        late = other.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(other.nbytes), ctypes.c_void_p()
        assert self.cuda.cuMemcpyHtoDAsync_v2(source, *late) == 0
        self.predict(self.gpu, given, output)
        back = np.zeros_like(self.expected)
        assert self.cuda.cuMemcpyDtoHAsync_v2(back.ctypes.data_as(ctypes.c_void_p), target,
                                              ctypes.c_size_t(back.nbytes), self.stream) == 0  # fmt: skip
        assert self.cuda.cuStreamSynchronize(self.stream) == 0
        assert back.tobytes() == self.expected[::-1].tobytes()

    def test_host_tensors_in_a_context_of_the_gpu(self):
        made = self.predict(self.gpu, tensor(self.rows.ctypes.data, CPU, 0, (ROWS, FEATURES)))
        assert ctypes.string_at(made.data, self.expected.nbytes) == self.expected.tobytes()
        self.runtime.library.mpc_rt_dlpack_release(ctypes.byref(made))

    def refused(self, context, device_id, text):
        source = self.device_memory(self.rows)
        try:
            self.predict(context, tensor(source.value, CUDA, device_id, (ROWS, FEATURES)))
        except Failed as failure:
            assert failure.status == 1 and text in str(failure), failure
        else:
            raise AssertionError("was accepted")

    def test_memory_of_another_gpu_is_refused(self):
        self.refused(self.gpu, 1, "device 2:1; expected the host (1) or the context's GPU (2:0)")

    def test_gpu_memory_in_a_context_of_the_cpu_is_refused(self):
        self.refused(self.host, 0, "device 2:0; expected memory of the host (1)")


def main():
    with tempfile.TemporaryDirectory(prefix="mpc-tensors-") as folder:
        suite = Suite(folder)
        status = named_tests.run(named_tests.methods(suite))
        suite.close()
        return status


if __name__ == "__main__":
    sys.exit(main())
