# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data that comes in batches: generators, datasets by number, and whatever can be iterated. Needs MPC_BIN and NumPy."""

import json
import pathlib
import tempfile
import threading
import time
import unittest
import warnings

import numpy as np

import mpc

BLOBS = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "c_predict" / "blobs.json"
TRAINING = {"loss": "sparse_categorical_crossentropy", "optimizer": "rmsprop", "metrics": ["accuracy"], "initialize": 7}


class Batches:
    """What can be iterated again, and says how many batches it has."""

    def __init__(self, *arrays, size=16):
        self.arrays, self.size = arrays, size

    def __len__(self):
        return -(-len(self.arrays[0]) // self.size)

    def __iter__(self):
        for begin in range(0, len(self.arrays[0]), self.size):
            yield tuple(array[begin : begin + self.size] for array in self.arrays)


class ByNumber:
    """As a keras.utils.PyDataset."""

    def __init__(self, *arrays, size=16, workers=1):
        self.batches, self.workers, self.max_queue_size = list(Batches(*arrays, size=size)), workers, 4
        self.asked, self.epochs, self.threads = [], [], set()

    @property
    def num_batches(self):
        return len(self.batches)

    def __getitem__(self, index):
        self.asked.append(index)
        self.threads.add(threading.current_thread().name)
        return self.batches[index]

    def on_epoch_begin(self):
        self.epochs.append("begin")

    def on_epoch_end(self):
        self.epochs.append("end")


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        mpc.compile(BLOBS, output=cls.folder / "blobs.mpc", **TRAINING)
        draw = np.random.default_rng(1)
        cls.x = draw.normal(size=(100, 4)).astype(np.float32)
        cls.y = (np.argmax(cls.x[:, :3], axis=1)).astype(np.int32)
        cls.weights = draw.uniform(size=100).astype(np.float32)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def load(self):
        return mpc.load(self.folder / "blobs.mpc")

    def history(self, x, y=None, model=None, **named):
        return (model or self.load()).fit(x, y, verbose=0, **named).history


class Training(Case):
    def setUp(self):
        self.expected = self.history(self.x, self.y, batch_size=16, epochs=3, shuffle=False, validation_data=(self.x[:40], self.y[:40]))

    def test_whatever_can_be_iterated(self):
        data, held = Batches(self.x, self.y), Batches(self.x[:40], self.y[:40])
        self.assertEqual(self.history(data, epochs=3, validation_data=held), self.expected)
        once = self.history([list(batch) for batch in data].__iter__(), steps_per_epoch=7, validation_data=held)
        self.assertEqual(once["loss"], self.expected["loss"][:1])

    def test_generators(self):
        def endless():
            while True:
                yield from Batches(self.x, self.y)

        source = endless()
        self.assertEqual(self.history(source, epochs=3, steps_per_epoch=7, validation_data=(self.x[:40], self.y[:40])), self.expected)
        # No batch more was taken: the next one is the first of a pass.
        self.assertTrue(np.array_equal(next(source)[0], self.x[:16]))

    def test_generators_that_fill_one_array(self):
        """A batch is not what it was when the next one has been made."""

        def refill(seconds):
            x, y = np.empty((16, 4), np.float32), np.empty(16, np.int32)
            while True:
                for begin in range(0, 96, 16):
                    time.sleep(seconds)
                    x[:], y[:] = self.x[begin : begin + 16], self.y[begin : begin + 16]
                    yield x, y

        expected = self.history(self.x[:96], self.y[:96], batch_size=16, epochs=2, shuffle=False)
        for seconds in (0, 0.002):
            self.assertEqual(self.history(refill(seconds), epochs=2, steps_per_epoch=6), expected)

    def test_datasets_by_number(self):
        for workers in (1, 3):
            data = ByNumber(self.x, self.y, workers=workers)
            self.assertEqual(self.history(data, epochs=3, shuffle=False, validation_data=ByNumber(self.x[:40], self.y[:40])), self.expected)
            self.assertEqual(data.epochs, ["begin", "end"] * 3)
            self.assertEqual(sorted(data.asked), sorted([*range(7)] * 3))
            if workers > 1:
                self.assertTrue(all(name.startswith("mpc-worker") for name in data.threads), data.threads)
        data = ByNumber(self.x, self.y)
        self.history(data, epochs=2)
        self.assertEqual((sorted(data.asked[:7]), sorted(data.asked[7:])), ([*range(7)], [*range(7)]))
        self.assertNotEqual(data.asked, [*range(7)] * 2)

    def test_weights_of_batches(self):
        arguments = {"epochs": 2, "shuffle": False}
        weighed = self.history(self.x, self.y, batch_size=16, sample_weight=self.weights, **arguments)
        self.assertEqual(self.history(Batches(self.x, self.y, self.weights), **arguments), weighed)
        classes = {0: 3.0, 2: 0.25}
        expected = self.history(self.x, self.y, batch_size=16, sample_weight=self.weights, class_weight=classes, **arguments)
        self.assertEqual(self.history(Batches(self.x, self.y, self.weights), class_weight=classes, **arguments), expected)
        self.assertNotEqual(expected, weighed)

    def test_steps(self):
        """Arrays and streams go on in the next epoch, and an epoch ends where the data do."""
        seen = []

        class Watch(mpc.Callback):
            def on_train_batch_end(self, batch, logs=None):
                seen.append(batch)

        for data, y in ((self.x, self.y), (Batches(self.x, self.y), None), (ByNumber(self.x, self.y), None)):
            seen.clear()
            with self.assertWarnsRegex(UserWarning, "ran out of data: 1 batches of 3"):
                history = self.history(data, y, steps_per_epoch=3, epochs=4, callbacks=[Watch()], **({} if y is None else {"batch_size": 16}), shuffle=False)
            self.assertEqual(seen, [0, 1, 2, 0, 1, 2, 0, 0, 1, 2])
            self.assertEqual(len(history["loss"]), 4)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.history(Batches(self.x, self.y), steps_per_epoch=7, epochs=2)
            self.history(self.x, self.y, batch_size=16, steps_per_epoch=7, epochs=2)
        model = self.load()
        model.fit(self.x, self.y, batch_size=16, steps_per_epoch=2, epochs=2, shuffle=False, verbose=0)
        other = self.load()
        other.fit(self.x[:64], self.y[:64], batch_size=16, shuffle=False, verbose=0)
        for one, two in zip(model.weights, other.weights):
            self.assertEqual(one.numpy().tobytes(), two.numpy().tobytes())

    def test_what_ends(self):
        with self.assertWarnsRegex(UserWarning, "generator has no more batches; training ends before epoch 2 of 3"):
            history = self.history(iter(Batches(self.x, self.y)), epochs=3)
        self.assertEqual(history["loss"], self.expected["loss"][:1])
        with self.assertWarnsRegex(UserWarning, "validation_data: generator has no more batches; epoch 2 goes without validation"):
            history = self.history(self.x, self.y, epochs=2, validation_data=iter(Batches(self.x, self.y)))
        self.assertEqual((len(history["loss"]), len(history["val_loss"])), (2, 1))

    def test_validation_steps(self):
        expected = self.load().evaluate(self.x[:32], self.y[:32], return_dict=True)
        self.assertEqual(self.load().evaluate(Batches(self.x, self.y), steps=2, return_dict=True), expected)
        found = self.history(Batches(self.x, self.y), epochs=2, validation_data=Batches(self.x, self.y), validation_steps=2)
        alike = self.history(Batches(self.x, self.y), epochs=2, validation_data=(self.x[:32], self.y[:32]), validation_batch_size=16)
        self.assertEqual(found, alike)

    def test_a_stop_ends_the_thread(self):
        class Stop(mpc.Callback):
            def on_train_batch_end(self, batch, logs=None):
                self.model.stop_training = batch == 3

        taken = []

        def endless(seconds):
            for number in range(10**6):
                taken.append(number)
                time.sleep(seconds)
                yield self.x[:16], self.y[:16]

        for seconds in (0, 0.02):
            taken.clear()
            self.history(endless(seconds), steps_per_epoch=1000, callbacks=[Stop()])
            count = len(taken)
            time.sleep(0.3)
            self.assertEqual(len(taken), count)
            self.assertLess(count, 12)
        self.assertNotIn("mpc-prefetch", [thread.name for thread in threading.enumerate()])

    def test_what_is_made_meanwhile(self):
        """The next batch is made while the model runs, on another thread, where making it takes long; that is known from the
        fourth batch on, and in the passes to come."""
        names = []

        def made_by(seconds):
            for _ in range(6):
                names.append(threading.current_thread().name)
                time.sleep(seconds)
                yield self.x, self.y

        class Passes:
            def __iter__(self):
                return made_by(0.02)

        self.history(Passes(), epochs=2)
        self.assertEqual(names, ["MainThread"] * 3 + ["mpc-prefetch"] * 9)

    def test_pace(self):
        """Batches that take 0.5 ms, or 3 % of a step, are made where they are asked for."""
        for making, running, expected in ((0.0004, 0.0001, False), (0.0006, 0.0001, True), (0.002, 0.1, False), (0.004, 0.1, True)):
            pace = mpc.prefetch.Pace()
            pace.made(9.0, 0.0)  # what is made once
            self.assertFalse(pace.is_slow)
            for _ in range(20):
                pace.made(making, running)
            self.assertEqual(pace.is_slow, expected, (making, running))
        pace = mpc.prefetch.Pace()
        for number in range(1000):
            pace.made(0.0001 if number % 20 else 0.5, 0.01)
            self.assertFalse(pace.is_slow)  # one that took long among others
        for _ in range(4):
            pace.made(0.01, 0.01)
        self.assertTrue(pace.is_slow)  # a source that becomes slow is noticed soon

    def test_memory(self):
        """Of many batches few are there at a time, on whichever thread they are made."""
        for seconds in (0, 0.003):
            self.few_are_alive(seconds)

    def few_are_alive(self, seconds):
        alive, most = [0], [0]

        class Rows(np.ndarray):
            def __del__(self):
                alive[0] -= 1

        def large():
            for _ in range(50):
                alive[0] += 1
                most[0] = max(most[0], alive[0])
                time.sleep(seconds)
                yield np.empty((64, 4), np.float32).view(Rows), self.y[:64]

        self.history(large())
        self.assertLess(most[0], 8)


class Forward(Case):
    def test_predicts(self):
        model = self.load()
        expected = model.predict(self.x, batch_size=16)
        for data in (Batches(self.x), Batches(self.x, self.y), Batches(self.x, self.y, self.weights), ByNumber(self.x), iter(Batches(self.x)),
                     (batch[0] for batch in Batches(self.x)), ({"x": batch[0]} for batch in Batches(self.x))):  # fmt: skip
            self.assertEqual(model.predict(data, verbose=0).tobytes(), expected.tobytes())
        self.assertEqual(model.predict(Batches(self.x), steps=2).tobytes(), expected[:32].tobytes())
        self.assertEqual(model.predict(self.x, batch_size=16, steps=2).tobytes(), expected[:32].tobytes())
        self.assertEqual(model.predict(iter([])).shape, (0, 3))

    def test_predicts_batches_of_any_size(self):
        """They are written into blocks of rows, whose ends no batch knows."""
        model, seen = self.load(), []
        expected = model.predict(self.x)

        class Keeper(mpc.Callback):
            def on_predict_batch_end(self, batch, logs=None):
                seen.append(logs["outputs"])

        for ends in ([1, 2, 3, 40, 41, 60], [30, 31, 32, 33], [len(self.x)], range(1, len(self.x))):
            seen.clear()
            parts = np.split(self.x, [end for end in ends if end < len(self.x)])
            found = model.predict(iter(parts), callbacks=[Keeper()])
            self.assertEqual(found.shape, expected.shape)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            self.assertEqual(np.concatenate(seen).tobytes(), found.tobytes())  # nothing is written twice

    def test_predicts_fixed_batches(self):
        model = mpc.compile(BLOBS, initialize=7, batch=8)
        x = self.x[: len(self.x) // 8 * 8]
        self.assertEqual(model.predict(Batches(x, size=8)).tobytes(), model.predict(x).tobytes())
        self.assertEqual(model.predict(iter([])).shape, (0, 3))

    def test_predicts_batches_of_several_shapes(self):
        """Each batch runs by the entry of its shape, whether it is an array or has to be made one."""
        layers = [("InputLayer", {"batch_shape": [None, None, 3], "dtype": "float32", "name": "x"}), ("GlobalAveragePooling1D", {"name": "pool"}),
                  ("Dense", {"name": "dense", "units": 2})]  # fmt: skip
        path = self.folder / "steps.json"
        path.write_text(json.dumps({"module": "keras", "class_name": "Sequential", "config": {"name": "steps", "layers": [
            {"module": "keras.layers", "class_name": name, "config": config} for name, config in layers]}}))  # fmt: skip
        model = mpc.compile(path, initialize=3, options=["--input-shape=x:4,3", "--input-shape=x:6,3"])
        draw = np.random.default_rng(2)
        for steps in (4, 6):
            x = draw.normal(size=(40, steps, 3)).astype(np.float32)
            for data in (Batches(x), iter(np.split(x, 5)), (batch.astype(np.float64) for batch in np.split(x, 5))):
                np.testing.assert_allclose(model.predict(data), model.predict(x), rtol=1e-6)
        mixed = [draw.normal(size=(8, steps, 3)).astype(np.float32) for steps in (6, 4, 4, 6)]
        found = model.predict(iter([{"x": each} for each in mixed]))
        np.testing.assert_array_equal(model.predict(iter([(each,) for each in mixed])), found)
        np.testing.assert_allclose(found, np.concatenate([model.predict(each) for each in mixed]), rtol=1e-6)

    def test_evaluates(self):
        model = self.load()
        expected = model.evaluate(self.x, self.y, 16, verbose=0, return_dict=True)
        for data in (Batches(self.x, self.y), ByNumber(self.x, self.y), iter(Batches(self.x, self.y))):
            self.assertEqual(model.evaluate(data, verbose=0, return_dict=True), expected)
        weighed = model.evaluate(self.x, self.y, 16, sample_weight=self.weights)
        self.assertEqual(model.evaluate(Batches(self.x, self.y, self.weights)), weighed)


class Refused(Case):
    def refused(self, text, call, *arguments, **named):
        with self.assertRaisesRegex(mpc.InvalidArgumentError, text):
            call(*arguments, **named)

    def test_arguments(self):
        model, data = self.load(), Batches(self.x, self.y)
        self.refused("y is given, but x is a .*Batches, whose batches bring it", model.fit, data, self.y)
        self.refused("sample_weight is given, but x is a", model.evaluate, data, sample_weight=self.weights)
        self.refused("validation_split is given, but x is a .*pass validation_data", model.fit, data, validation_split=0.5)
        self.refused("steps_per_epoch is 0; expected an integer of at least 1", model.fit, data, steps_per_epoch=0)
        self.refused("validation_steps is 1.5", model.fit, data, validation_data=data, validation_steps=1.5)
        self.refused("steps is True", model.predict, data, steps=True)
        self.refused("gave no batches", model.evaluate, iter([]))
        self.refused("out is given, but how many rows", model.predict, data, out=np.empty((100, 3), np.float32))
        self.refused("x is a .*Batches; expected the arrays of one batch", model.gradients, data)
        self.refused("x is a .*Batches; expected the arrays of one batch", model.train_on_batch, data)
        endless = ByNumber(self.x, self.y)
        type(endless).num_batches = property(lambda self: None)
        try:
            self.refused("without an end; expected steps_per_epoch", model.fit, endless)
            self.refused("without an end; expected steps", model.predict, endless)
        finally:
            type(endless).num_batches = property(lambda self: len(self.batches))

    def test_batches(self):
        model = self.load()
        for text, batch in ((r"batch 2 of list_iterator: input 'x': has rows of shape \(3,\)", (self.x[:, 1:], self.y)),
                            ("batch 2 of list_iterator: y is missing", (self.x,)),
                            ("batch 2 of list_iterator: is a tuple of 4 parts", (self.x,) * 4),
                            ("batch 2 of list_iterator: input 'x': is a object", (object(), self.y)),
                            ("batch 2 of list_iterator: x has no rows", (self.x[:0], self.y[:0]))):  # fmt: skip
            self.refused(text, model.fit, iter([(self.x, self.y), batch]), verbose=0)

        def fails():
            yield self.x, self.y
            raise KeyError("theirs")

        with self.assertRaisesRegex(KeyError, "theirs"):
            model.fit(fails(), verbose=0)

    def test_ways_out(self):
        model = self.load()

        class Rows:  # as a torch.utils.data.Dataset
            def __getitem__(self, index):
                return index

            def __len__(self):
                return 3

        class Sparse:
            nnz, toarray = 3, None

        self.refused("is a .*Rows, which gives rows by number; .*pass a torch.utils.data.DataLoader", model.predict, Rows())
        self.refused(r"is a .*Sparse; .*pass .toarray\(\)", model.predict, Sparse())
        self.refused("model is a builtins.int; expected a Keras model, a path", mpc.compile, 3)


if __name__ == "__main__":
    unittest.main()
