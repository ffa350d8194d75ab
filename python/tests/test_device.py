# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of other libraries by DLPack, on the host and on a GPU. Run with the software device's
libraries in LD_LIBRARY_PATH (scripts/with-fake-cuda)."""

import ctypes
import gc
import pathlib
import unittest

import numpy as np

import mpc

BLOBS = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "c_predict" / "blobs.json"
CPU, CUDA, HOST, MANAGED = 1, 2, 3, 13
ROWS, FEATURES, CLASSES = 6, 4, 3
CODES = {"f": 2, "i": 0, "u": 1, "b": 6}


class ManagedTensor(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(ManagedTensor))
ManagedTensor._fields_ = [
    ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
    ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
    ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64), ("manager_ctx", ctypes.c_void_p), ("deleter", DELETER)]  # fmt: skip
NEW = ctypes.pythonapi.PyCapsule_New
NEW.restype, NEW.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor:
    """What a library of tensors shows of one: nothing but DLPack."""

    def __init__(self, address, dtype, shape, device=(CUDA, 0), *, strides=None, offset=0, name=b"dltensor", refusal=None):
        self.address, self.dtype, self.shape, self.device = address, np.dtype(dtype), tuple(shape), device
        self.strides, self.offset, self.name, self.refusal = strides, offset, name, refusal
        self.streams, self.exported, self.released = [], [], 0

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if self.refusal:
            raise self.refusal
        self.streams.append(options.get("stream"))
        extents = (ctypes.c_int64 * len(self.shape))(*self.shape)
        strides = self.strides and (ctypes.c_int64 * len(self.shape))(*self.strides)

        def delete(_):
            self.released += 1

        made = ManagedTensor(self.address, *self.device, len(self.shape), CODES[self.dtype.kind], 8 * self.dtype.itemsize, 1, extents,
                             strides, self.offset, None, DELETER(delete))  # fmt: skip
        self.exported.append((made, extents, strides))
        return NEW(ctypes.addressof(made), self.name, None)


class Device(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        options = {"loss": "sparse_categorical_crossentropy", "optimizer": "sgd", "metrics": ["accuracy"], "initialize": 3}
        cls.compile = staticmethod(lambda: mpc.compile(BLOBS, device="cuda:0", options=["--target=cuda:source"], **options))
        cls.model = cls.compile()
        cls.cuda = ctypes.CDLL("libcuda.so.1")
        cls.stream = ctypes.c_void_p()
        cls.check(cls.cuda.cuStreamCreate(ctypes.byref(cls.stream), 0))
        draw = np.random.default_rng(5)
        cls.x = draw.normal(size=(ROWS, FEATURES)).astype(np.float32)
        cls.y = draw.integers(0, CLASSES, ROWS).astype(np.int32)

    @classmethod
    def tearDownClass(cls):
        """The software device counts what is left."""
        cls.check(cls.cuda.cuStreamDestroy_v2(cls.stream))
        del cls.model

    def setUp(self):
        self.allocated = []

    def tearDown(self):
        for address in self.allocated:
            self.check(self.cuda.cuMemFree_v2(address))

    @staticmethod
    def check(status):
        if status:
            raise RuntimeError(f"CUDA status {status}")

    def copy(self, function, *arguments):
        self.check(function(*arguments, self.stream))
        self.check(self.cuda.cuStreamSynchronize(self.stream))

    def on_device(self, array, shape=None, **options):
        address = ctypes.c_uint64()
        self.check(self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(array.nbytes)))
        self.allocated.append(address)
        self.copy(self.cuda.cuMemcpyHtoDAsync_v2, address, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
        return Tensor(address.value, array.dtype, array.shape if shape is None else shape, **options)

    def values(self, tensor):
        array = np.empty(tensor.shape, tensor.dtype)
        self.copy(self.cuda.cuMemcpyDtoHAsync_v2, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(tensor.address), ctypes.c_size_t(array.nbytes))
        return array

    def test_predict(self):
        """Of host and device the same bytes; asked for on the legacy default stream; given back."""
        given = self.on_device(self.x)
        result = self.model.predict(given, batch_size=4)
        self.assertIsInstance(result, np.ndarray)
        self.assertEqual(result.tobytes(), self.model.predict(self.x, batch_size=4).tobytes())
        self.assertEqual(given.streams, [1])
        gc.collect()
        self.assertEqual(given.released, 1)

    def test_shapes_that_differ_by_ones(self):
        given = self.on_device(self.x, shape=(ROWS, FEATURES, 1))
        self.assertEqual(self.model.predict(given).tobytes(), self.model.predict(self.x).tobytes())
        with self.assertRaisesRegex(ValueError, r"input 'x': has rows of shape \(3,\); expected \(4,\)"):
            self.model.predict(self.on_device(self.x, shape=(8, 3)))

    def test_byte_offset(self):
        given = self.on_device(self.x, shape=(ROWS - 1, FEATURES), offset=4 * FEATURES)
        self.assertEqual(self.model.predict(given).tobytes(), self.model.predict(self.x[1:]).tobytes())

    def test_output_on_the_device(self):
        target = self.on_device(np.zeros((ROWS, CLASSES), np.float32))
        self.assertIs(self.model.predict(self.on_device(self.x), batch_size=4, out=target), target)
        expected = self.model.predict(self.x, batch_size=4)
        self.assertEqual(self.values(target).tobytes(), expected.tobytes())
        host = np.zeros((ROWS, CLASSES), np.float32)
        self.assertIs(self.model.predict(self.x, batch_size=4, out=host), host)
        self.assertEqual(host.tobytes(), expected.tobytes())

    def test_outputs_that_do_not_fit(self):
        fixed = np.zeros((ROWS, CLASSES), np.float32)
        fixed.flags.writeable = False
        for target, message in [(np.zeros((ROWS, CLASSES)), "is float64 of shape"), (np.zeros((ROWS, 2), np.float32), r"shape \(6, 2\)"),
                                (fixed, "may be written"), (np.zeros((CLASSES, ROWS), np.float32).T, "dense"), ([[0.0] * CLASSES] * ROWS, "is a list"),
                                (self.on_device(self.x), r"shape \(6, 4\)"), ([fixed, fixed], "")]:  # fmt: skip
            with self.assertRaisesRegex(ValueError, message):
                self.model.predict(self.x, out=target)
        with self.assertRaisesRegex(ValueError, "out and dlpack"):
            self.model.predict(self.x, out=fixed, dlpack=True)

    def test_evaluate_and_gradients(self):
        x, y = self.on_device(self.x), self.on_device(self.y)
        self.assertEqual(self.model.evaluate(x, y), self.model.evaluate(self.x, self.y))
        one, other = self.model.gradients(x, self.y), self.model.gradients(self.x, self.y)
        self.assertEqual(one.loss, other.loss)
        for path, value in other.variables.items():
            self.assertEqual(one.variables[path].tobytes(), value.tobytes(), path)

    def test_fit(self):
        one, other = self.compile(), self.compile()
        options = {"batch_size": 2, "epochs": 2, "shuffle": False, "validation_split": 0.34, "verbose": 0}
        first = one.fit(self.on_device(self.x), self.on_device(self.y), **options).history
        self.assertEqual(first, other.fit(self.x, self.y, **options).history)
        for mine, theirs in zip(one.weights, other.weights):
            self.assertEqual(mine.numpy().tobytes(), theirs.numpy().tobytes())
        with self.assertRaisesRegex(ValueError, "input 'x': is on DLPack's device 2:0, where rows cannot be shuffled; .*shuffle=False"):
            one.fit(self.on_device(self.x), self.y, verbose=0)

    def test_wrong_tensors(self):
        x = self.on_device(self.x)
        for wrong, message in [
            (Tensor(x.address, np.float32, (FEATURES, ROWS), strides=(1, 4)), "strides; expected dense"),
            (Tensor(x.address, np.float64, (3, FEATURES)), "input 'x': is float64 on DLPack's device 2:0; expected float32"),
            (Tensor(x.address, np.float32, (ROWS, FEATURES), (CUDA, 7)), "device 2:7; expected .* the context's GPU"),
            (Tensor(x.address, np.float32, (-1, FEATURES)), "negative extent"),
            (Tensor(x.address, np.float32, (1 << 62, FEATURES)), "too many elements"),
            (Tensor(x.address, np.float32, (1,) * 40), "40 dimensions"),
            (Tensor(x.address, np.float32, (ROWS, FEATURES), name=b"used_dltensor"), "cannot be read"),
            (Tensor(None, np.float32, (ROWS, FEATURES)), "data is null"),
            (Tensor(x.address, np.float32, (ROWS, FEATURES), offset=2), "not aligned"),
            (Tensor(x.address, np.float32, ()), "is a scalar"),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                self.model.predict(wrong)

    def test_places_that_need_the_host(self):
        weights = self.on_device(np.ones(ROWS, np.float32))
        for call in [lambda: self.model.evaluate(self.x, self.y, sample_weight=weights),
                     lambda: self.model.weights[0].assign(self.on_device(self.model.weights[0].numpy()))]:  # fmt: skip
            with self.assertRaisesRegex(ValueError, "device 2:0; expected memory of the host"):
                call()
        with self.assertRaisesRegex(ValueError, "device 2:0; expected memory of the host"):
            mpc.compile(BLOBS).predict(self.on_device(self.x))

    def test_memory_that_the_host_reads(self):
        """CUDA's pinned and managed memory is handed on as it is, too."""
        expected = self.model.predict(self.x).tobytes()
        for kind in (HOST, MANAGED):
            self.assertEqual(self.model.predict(Tensor(self.x.ctypes.data, self.x.dtype, self.x.shape, (kind, 0))).tobytes(), expected)

    def test_host(self):
        """Nothing but DLPack on the host: a view, no copy, no stream."""
        given = Tensor(self.x.ctypes.data, self.x.dtype, self.x.shape, (CPU, 0))
        seen = mpc.arrays.to_numpy(given)
        self.assertTrue(np.shares_memory(seen, self.x))
        self.assertEqual((given.streams, given.released), ([None], 0))
        del seen
        gc.collect()
        self.assertEqual(given.released, 1)
        with self.assertRaisesRegex(ValueError, "cannot be read: sparse"):
            mpc.arrays.to_numpy(Tensor(None, np.float32, (1,), (CPU, 0), refusal=TypeError("sparse")))
        turned = Tensor(self.x.ctypes.data, self.x.dtype, (FEATURES, ROWS), (CPU, 0), strides=(1, FEATURES))
        self.assertTrue(np.array_equal(mpc.arrays.to_numpy(turned), self.x.T))
        self.assertEqual(self.model.predict(given).tobytes(), self.model.predict(self.x).tobytes())


if __name__ == "__main__":
    unittest.main()
