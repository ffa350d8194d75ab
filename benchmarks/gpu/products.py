# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The products of a training step of the guide's model and nothing else, by cuBLASLt: what no step of these
products can be faster than. Driver API and cuBLASLt by ctypes; the numbers are those of cublasLt.h."""

import ctypes
import random
import statistics
import time

FLOAT32, FLOAT16, BFLOAT16 = 0, 2, 14  # cudaDataType_t
COMPUTE_32F, COMPUTE_TF32 = 68, 77  # cublasComputeType_t
TYPES = {"float32": (FLOAT32, COMPUTE_32F), "tf32": (FLOAT32, COMPUTE_TF32), "mixed_float16": (FLOAT16, COMPUTE_32F),
         "mixed_bfloat16": (BFLOAT16, COMPUTE_32F)}  # fmt: skip
WORKSPACE = 32 << 20


class Algorithm(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64 * 8)]


class Heuristic(ctypes.Structure):
    _fields_ = [("algorithm", Algorithm), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int),
                ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]  # fmt: skip


def checked(library, prefix):
    """The library's functions, which raise for every status but 0."""

    class Checked:
        def __getattr__(self, name):
            function = getattr(library, prefix + name)

            def call(*arguments):
                status = function(*arguments)
                if status:
                    raise RuntimeError(f"{prefix}{name}: status {status}")

            return call

    return Checked()


def load_blas():
    for version in (13, 12):
        try:
            return checked(ctypes.CDLL(f"libcublasLt.so.{version}"), "cublasLt")
        except OSError:
            pass
    raise RuntimeError("libcublasLt.so.13 and libcublasLt.so.12 are missing")


class Step:
    def __init__(self, precision):
        self.type, self.compute = TYPES[precision]
        self.bytes = 4 if self.type == FLOAT32 else 2
        self.cuda, self.blas = checked(ctypes.CDLL("libcuda.so.1"), "cu"), load_blas()
        self.cuda.Init(0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.cuda.DeviceGet(ctypes.byref(device), 0)
        self.device = device
        self.cuda.DevicePrimaryCtxRetain(ctypes.byref(context), device)
        self.cuda.CtxSetCurrent(context)
        self.stream, self.handle, self.preference = (ctypes.c_void_p() for _ in range(3))
        self.cuda.StreamCreate(ctypes.byref(self.stream), 1)
        self.blas.Create(ctypes.byref(self.handle))
        self.blas.MatmulPreferenceCreate(ctypes.byref(self.preference))
        self.blas.MatmulPreferenceSetAttribute(self.preference, 1, ctypes.byref(ctypes.c_uint64(WORKSPACE)), ctypes.c_size_t(8))
        self.memory, self.products = [], []
        self.workspace = self.allocate(WORKSPACE)

    def allocate(self, count):
        address = ctypes.c_uint64()
        self.cuda.MemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(count))
        self.memory.append(address)
        return ctypes.c_void_p(address.value)

    def matrix(self, rows, columns):
        """Random numbers: of zeros a GPU multiplies faster."""
        count = rows * columns * self.bytes
        pattern = random.Random(1).randbytes(4096)
        # No infinity and no NaN: the exponent's highest bit is off.
        pattern = bytes(byte & 0xBF if i % self.bytes == self.bytes - 1 else byte for i, byte in enumerate(pattern))
        host, address = (pattern * (count // 4096 + 1))[:count], self.allocate(count)
        self.cuda.MemcpyHtoDAsync_v2(address, host, ctypes.c_size_t(count), self.stream)
        self.cuda.StreamSynchronize(self.stream)
        return address

    def layout(self, rows, columns):
        made = ctypes.c_void_p()
        self.blas.MatrixLayoutCreate(ctypes.byref(made), self.type, ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows))
        return made

    def add(self, m, n, k, transpose_lhs=False, transpose_rhs=False):
        """[m, k] x [k, n] by rows: columns first, the product of the operands exchanged."""
        desc, found, choice = ctypes.c_void_p(), ctypes.c_int(), Heuristic()
        self.blas.MatmulDescCreate(ctypes.byref(desc), self.compute, FLOAT32)
        for attribute, value in ((3, transpose_rhs), (4, transpose_lhs)):
            self.blas.MatmulDescSetAttribute(desc, attribute, ctypes.byref(ctypes.c_int32(value)), ctypes.c_size_t(4))
        a = self.layout(k, n) if transpose_rhs else self.layout(n, k)
        b = self.layout(m, k) if transpose_lhs else self.layout(k, m)
        d = self.layout(n, m)
        self.blas.MatmulAlgoGetHeuristic(self.handle, desc, a, b, d, d, self.preference, 1, ctypes.byref(choice), ctypes.byref(found))
        if not found.value:
            raise RuntimeError(f"cuBLASLt has no algorithm for [{m}, {k}] x [{k}, {n}]")
        self.products.append((desc, a, b, d, choice, self.matrix(k, n), self.matrix(m, k), self.allocate(m * n * self.bytes)))

    def run(self):
        one, none = ctypes.c_float(1), ctypes.c_float(0)
        for desc, a, b, d, choice, rhs, lhs, out in self.products:
            self.blas.Matmul(self.handle, desc, ctypes.byref(one), rhs, a, lhs, b, ctypes.byref(none), out, d, out, d,
                             ctypes.byref(choice.algorithm), self.workspace, ctypes.c_size_t(WORKSPACE), self.stream)  # fmt: skip
        self.cuda.StreamSynchronize(self.stream)

    def close(self):
        self.cuda.StreamSynchronize(self.stream)
        for desc, a, b, d, *_ in self.products:
            self.blas.MatmulDescDestroy(desc)
            for layout in (a, b, d):
                self.blas.MatrixLayoutDestroy(layout)
        self.blas.MatmulPreferenceDestroy(self.preference)
        self.blas.Destroy(self.handle)
        for address in self.memory:
            self.cuda.MemFree_v2(address)
        self.cuda.StreamDestroy_v2(self.stream)
        self.cuda.DevicePrimaryCtxRelease_v2(self.device)


def time_products(precision, batch, steps, warmup, features=784, units=4096, classes=16):
    """Milliseconds: {"ms": median}. `classes` as mpc pads them."""
    step = Step(precision)
    try:
        step.add(batch, units, features)
        step.add(batch, units, units)
        step.add(batch, classes, units)
        step.add(units, classes, batch, transpose_lhs=True)
        step.add(batch, units, classes, transpose_rhs=True)
        step.add(units, units, batch, transpose_lhs=True)
        step.add(batch, units, units, transpose_rhs=True)
        step.add(features, units, batch, transpose_lhs=True)
        times = []
        for _ in range(warmup + steps):
            start = time.perf_counter()
            step.run()
            times.append(1e3 * (time.perf_counter() - start))
        return {"ms": statistics.median(times[warmup:])}
    finally:
        step.close()
