# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs do wrong with the package mpc: a message that says so, before anything is computed."""

import gc
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref

import ml_dtypes
import numpy as np

import mpc

BLOBS = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "c_predict" / "blobs.json"


class Misuse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        mpc.compile(BLOBS, output=cls.folder / "blobs.mpc")
        draw = np.random.default_rng(1)
        cls.x = draw.normal(size=(40, 4)).astype(np.float32)
        cls.y = draw.integers(0, 3, 40).astype(np.int32)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        self.model = mpc.load(self.folder / "blobs.mpc")

    def refused(self, text, call, *arguments, **named):
        with self.assertRaisesRegex(mpc.InvalidArgumentError, text):
            call(*arguments, **named)

    def own_folder(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        return pathlib.Path(temporary.name)

    def test_options_in_one_text(self):
        self.refused(r"options is '--march=native'; expected a list of mpcc's options; pass \['--march=native'\]", mpc.compile, BLOBS, options="--march=native")

    def test_class_as_callback(self):
        self.refused(r"callbacks has the class EarlyStopping; expected an object of it; pass EarlyStopping\(\)", self.fit, callbacks=[mpc.callbacks.EarlyStopping])

    def fit(self, **named):
        return self.model.fit(self.x, self.y, verbose=0, **named).history

    def test_arrays_that_are_no_numbers(self):
        """NumPy would convert them, and leave something out."""
        x, y = self.x, self.y
        for wrong in [x + 1j, x.astype("m8[s]"), x.astype("M8[s]"), x.view("V4"), x.view([("a", "f4")]), x.astype(object), x.astype(str)]:
            self.refused(r"input 'x': is an array of .*; expected numbers that fit float32", self.model.predict, wrong)
        self.refused("target 'predictions': is an array of timedelta64", self.model.evaluate, x, y.astype("m8[s]"))
        self.refused("dense_1/kernel: is an array of complex128", self.model["dense_1/kernel"].assign, np.zeros((4, 32), complex))
        self.refused("input 'x': the list is no array: .*; expected rows of one shape", self.model.predict, [[1, 2, 3, 4], [1, 2]])
        self.refused(r"batch 1 of generator: input 'x': is one row of shape \(4,\); .*batch the data", self.model.predict, (row for row in x))
        # Numbers of any kind are none of these.
        expected = self.model.predict(np.round(x * 8))
        for good in [np.float64, np.float16, np.longdouble, ml_dtypes.bfloat16, ">f4", np.int8]:
            self.assertTrue(np.array_equal(self.model.predict(np.round(x * 8).astype(good)), expected), good)

    def test_batch_sizes(self):
        for wrong in [0, -1, 2.5, "4", float("nan")]:
            self.refused("batch_size is .*; expected an integer of at least 1", self.model.predict, self.x, batch_size=wrong)
            self.refused("batch_size is .*; expected an integer of at least 1", self.fit, batch_size=wrong)
        self.assertEqual(self.model.predict(self.x, batch_size=np.int64(7)).shape, (40, 3))

    def test_no_rows(self):
        x, y = self.x[:0], self.y[:0]
        self.refused("x has no rows", self.model.evaluate, x, y)
        self.refused("x has no rows", self.model.gradients, x, y)
        self.refused("no rows to train on", self.model.fit, x, y)
        self.refused("validation_data has no rows", self.fit, validation_data=(x, y))
        self.refused("leaves none of 40 rows to validate on", self.fit, validation_split=1e-18)

    def test_fit(self):
        self.refused("validation_data is a ndarray; expected \\(x, y\\)", self.fit, validation_data=self.x)
        self.refused("validation_freq is 0", self.fit, validation_freq=0)
        self.refused("class_weight is a list", self.fit, class_weight=[1, 2, 3])
        self.refused("the key '0' is no class", self.fit, class_weight={"0": 2.0})
        for wrong in [float("nan"), 1e300, -1.0]:
            self.refused("class 1 has the weight", self.fit, class_weight={1: wrong})
        self.refused("callbacks has a str", self.fit, callbacks=["early"])
        for wrong in ["a", -0.5, 1.5, float("nan"), [0.5]]:
            self.refused("validation_split is .*; expected a number between 0 and 1", self.fit, validation_split=wrong)
        for wrong in [1.5, "2", -1]:
            self.refused("epochs is .*; expected an integer of at least 0", self.fit, epochs=wrong)
            self.refused("initial_epoch is .*; expected an integer of at least 0", self.fit, initial_epoch=wrong)
        for wrong in ["a", None, [1, 2]]:
            self.refused("learning_rate is .*; expected a number", setattr, self.model, "learning_rate", wrong)
        before = self.fit(callbacks=None)
        history = mpc.History()
        self.fit(callbacks=history)
        self.assertEqual(set(history.history), set(before))

    def test_what_is_no_data(self):
        """The type is named first, not the targets that are missing beside it."""
        def batches():
            yield self.x, self.y

        self.refused("input 'x': is a function; .*call it", self.model.fit, batches)
        self.refused("input 'x': is a str; expected an array with rows of shape", self.model.fit, "data.csv")
        self.refused("input 'x': is a NoneType; expected an array", self.model.fit)
        self.refused("input 'x': is a scalar", self.model.fit, 3.0)
        self.refused("y is missing; expected 1 targets: 'predictions'", self.model.fit, self.x)

    def test_classes(self):
        """Numbers of classes where the loss takes one-hot ones, and the other way round."""
        one_hot = np.eye(3, dtype=np.float32)[self.y]
        self.refused(r"rows of shape \(3,\); expected \(\); where it is one-hot, pass .argmax\(axis=-1\), or", self.model.fit, self.x, one_hot)
        other = mpc.compile(BLOBS, loss="categorical_crossentropy", optimizer="sgd", output=self.own_folder() / "other.mpc")
        self.refused(r"rows of shape \(\); expected \(3,\); where it is numbers of classes, pass keras.utils.to_categorical\(y, 3\)", other.fit, self.x, self.y)
        other.fit(self.x, one_hot, verbose=0)
        self.refused(r"rows of shape \(2,\); expected \(3,\)$", other.fit, self.x, one_hot[:, :2])

    def test_compiling_as_keras_does(self):
        with self.assertRaisesRegex(mpc.FailedPreconditionError, "use mpc.compile"):
            self.model.compile("adam", loss="mse")

    def test_class_weights_of_sequences(self):
        """Keras would take the largest of each row for its class, or fail."""
        tensor = [{"args": [{"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}}], "kwargs": {}}]
        layers = [("InputLayer", "x", {"batch_shape": [None, 4, 2]}, []), ("Dense", "steps", {"units": 3, "activation": "softmax"}, tensor)]
        config = {"name": "steps", "input_layers": [["x", 0, 0]], "output_layers": [["steps", 0, 0]],
                  "layers": [{"module": "keras.layers", "class_name": kind, "name": name, "config": {"name": name, **rest}, "inbound_nodes": nodes}
                             for kind, name, rest, nodes in layers]}  # fmt: skip
        folder = self.own_folder()
        file = folder / "steps.json"
        file.write_text(json.dumps({"module": "keras", "class_name": "Functional", "config": config}))
        x = np.ones((6, 4, 2), np.float32)
        for loss, y in [("sparse_categorical_crossentropy", np.zeros((6, 4), np.int32)), ("categorical_crossentropy", np.zeros((6, 4, 3), np.float32))]:
            model = mpc.compile(file, loss=loss, optimizer="sgd", output=folder / f"{loss}.mpc")
            self.refused("more than one class in a row; .*pass sample_weight", model.fit, x, y, verbose=0, class_weight={0: 2.0})
            model.fit(x, y, verbose=0)

    def test_models_that_are_compiled_again(self):
        """The one that is there is loaded, while the other is still in use."""
        folder = self.own_folder() / "again.mpc"
        mpc.compile(BLOBS, output=folder, policy="float32")
        one = mpc.load(folder)
        mpc.compile(BLOBS, output=folder, policy="mixed_bfloat16")
        other = mpc.load(folder)
        self.assertEqual((one.policy, other.policy), ("float32", "mixed_bfloat16"))
        self.assertEqual(one.predict(self.x).shape, other.predict(self.x).shape)

    def test_nothing_holds_a_model_that_nobody_has(self):
        gc.disable()
        try:
            gone = weakref.ref(self.model)
            kernel = self.model["dense_1/kernel"]
            before = kernel.numpy()
            del self.model
            self.assertIsNone(gone())
            self.assertTrue(np.array_equal(kernel.numpy(), before))
        finally:
            gc.enable()

    def test_nothing_holds_what_was_computed_with(self):
        """Data may be as large as a GPU's memory, and somebody else's to release."""
        gc.disable()
        try:
            for call in (lambda x: self.model.predict(x), lambda x: self.model.evaluate(x, self.y), lambda x: self.model.fit(x, self.y, verbose=0),
                         lambda x: self.model.fit(iter([(x, self.y)]), verbose=0, validation_data=(x, self.y)), self.model):  # fmt: skip
                array = self.x.copy()
                gone = weakref.ref(array)
                call(array)
                del array
                self.assertIsNone(gone())
        finally:
            gc.enable()

    def test_seeds_and_threads(self):
        for name, wrong in [("seed", -1), ("seed", 1 << 64), ("threads", -1), ("threads", 1 << 32)]:
            self.refused(f"{name} is {wrong}; expected an integer from 0 to", mpc.load, self.folder / "blobs.mpc", **{name: wrong})
        self.refused("seed is -1", self.model.initialize, -1)

    def test_paths(self):
        folder = os.fspath(self.folder)
        for call in [mpc.load, self.model.save, self.model.load]:
            with self.assertRaisesRegex(ValueError, "null"):
                call(os.path.join(folder, "blobs.mpc\0.safetensors"))
        self.assertEqual(os.listdir(folder), ["blobs.mpc"])
        self.refused("null character", mpc.load, self.folder / "blobs.mpc", device="cpu\0")
        odd = os.path.join(os.fsencode(folder), b"\xff \n.safetensors")
        for path in [odd, os.fsdecode(odd)]:
            self.model.save(path)
            self.model.load(path)
            os.remove(odd)
            with self.assertRaisesRegex(mpc.NotFoundError, r"\\xff"):
                self.model.load(path)
        os.symlink("blobs.mpc", os.path.join(os.fsencode(folder), b"\xff.mpc"))
        model = mpc.load(os.path.join(os.fsencode(folder), b"\xff.mpc"))
        self.assertIn(os.fsdecode(b"\xff.mpc"), model.path)
        os.remove(os.path.join(os.fsencode(folder), b"\xff.mpc"))

    def test_exit_while_a_daemon_thread_runs(self):
        program = ("import sys, threading, time, mpc, numpy as np\n"
                   "model, x = mpc.load(sys.argv[1]), np.zeros((1 << 16, 4), np.float32)\n"
                   "def run():\n"
                   "    while True:\n"
                   "        model.predict(x, batch_size=len(x))\n"
                   "threading.Thread(target=run, daemon=True).start()\n"
                   "time.sleep(0.1)\n")  # fmt: skip
        # Several at once, so that the thread is still in the library's kernels while destructors run.
        for _ in range(4):
            together = [subprocess.Popen([sys.executable, "-c", program, self.folder / "blobs.mpc"], stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True) for _ in range(4)]  # fmt: skip
            for process in together:
                self.assertEqual((process.communicate(timeout=60)[1], process.returncode), ("", 0))

    def test_calls_at_exit(self):
        """The thread that ends the interpreter may call on, and a child that was forked beside a call does not wait for it."""
        program = ("import atexit, os, sys, threading, time, numpy as np\n"
                   "atexit.register(lambda: print(model.predict(x[:2]).shape))\n"
                   "import mpc\n"
                   "model, x = mpc.load(sys.argv[1]), np.zeros((1 << 16, 4), np.float32)\n"
                   "other = mpc.load(sys.argv[1])\n"
                   "def run():\n"
                   "    while True:\n"
                   "        other.predict(x, batch_size=len(x))\n"
                   "threading.Thread(target=run, daemon=True).start()\n"
                   "time.sleep(0.1)\n"
                   "child = os.fork()\n"
                   "if child == 0:\n"
                   "    sys.exit(7)\n"
                   "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)\n")  # fmt: skip
        result = subprocess.run([sys.executable, "-c", program, self.folder / "blobs.mpc"], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr, result.stdout), (0, "", "(2, 3)\n7\n(2, 3)\n"))

    def test_fork_while_another_thread_runs(self):
        """The child has no such thread, and does not wait for it."""
        entered, leave = threading.Event(), threading.Event()
        x = np.zeros((1 << 16, 4), np.float32)

        def run():
            while not leave.is_set():
                self.model.predict(x, batch_size=len(x))
                entered.set()

        thread = threading.Thread(target=run)
        thread.start()
        self.assertTrue(entered.wait(60))
        statuses = set()
        for _ in range(50):  # until the thread was in the middle of a run
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                status = 3
                try:
                    self.model.predict(self.x)
                    status = 0
                except mpc.FailedPreconditionError as problem:
                    status = 1 if "forked" in str(problem) else 2
                finally:
                    os._exit(status)
            statuses.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            if 1 in statuses:
                break
        leave.set()
        thread.join()
        self.assertIn(1, statuses)
        self.assertLessEqual(statuses, {0, 1})
        self.assertEqual(self.model.predict(self.x).shape, (40, 3))


if __name__ == "__main__":
    unittest.main()
