# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a Keras user types, run twice: with Keras, and with `model = mpc.compile(model)` in between. Same losses.
Needs keras, tensorflow and torch."""

import contextlib
import csv
import inspect
import io
import pathlib
import tempfile
import unittest
import warnings

import keras
import ml_dtypes  # noqa: F401
import numpy as np
import pandas
import tensorflow as tf
import torch

import mpc

# Losses of Keras on TensorFlow and mpc's, in float32: sums of the same terms in another order.
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}


def make(optimizer=None, **compiling):
    keras.utils.set_random_seed(3)
    inputs = keras.Input((16,), name="x")
    hidden = keras.layers.Dense(32, activation="relu", name="hidden")(inputs)
    hidden = keras.layers.BatchNormalization(name="normalized")(hidden)
    model = keras.Model(inputs, keras.layers.Dense(4, activation="softmax", name="classes")(hidden), name="notebook")
    model.compile(optimizer=optimizer or keras.optimizers.Adam(0.01),
                  **{"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"], **compiling})  # fmt: skip
    return model


def rows(count, seed):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(count, 16)).astype(np.float32)
    return x, np.argmax(x[:, :4] + 0.3 * draw.normal(size=(count, 4)), axis=1).astype(np.int64)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.x, cls.y = rows(400, 1)
        cls.held_x, cls.held_y = rows(96, 2)

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def same(self, ours, theirs):
        self.assertEqual(list(ours), list(theirs))
        for name, values in theirs.items():
            np.testing.assert_allclose(ours[name], values, **TOLERANCE, err_msg=name)


class Notebook(Case):
    def session(self, model, data, held, folder):
        """The cells behind the compile line. What each gives, by name."""
        found = {}
        halved = []
        callbacks = [
            keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate if epoch < 2 else rate * 0.5),
            keras.callbacks.EarlyStopping(monitor="val_accuracy", patience=3, restore_best_weights=True),
            keras.callbacks.ModelCheckpoint(str(folder / "best.keras"), monitor="val_accuracy", save_best_only=True),
            keras.callbacks.ModelCheckpoint(str(folder / "at-{epoch}-{batch}.weights.h5"), save_weights_only=True, save_freq=7),
            keras.callbacks.CSVLogger(str(folder / "log.csv")),
            keras.callbacks.TensorBoard(str(folder / "board"), histogram_freq=1),
            keras.callbacks.BackupAndRestore(str(folder / "backup")),
            keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: halved.append(float(model.optimizer.learning_rate))),
        ]
        history = model.fit(data(), epochs=4, validation_data=held(), callbacks=callbacks, verbose=0)
        found["history"], found["rates"] = history.history, halved
        found["evaluate"] = model.evaluate(held(), verbose=0, return_dict=True)
        found["arrays"] = model.evaluate(self.held_x, self.held_y, verbose=0)
        found["predict"] = model.predict(self.held_x, verbose=0)
        found["call"] = np.asarray(model(self.held_x[:5]))
        found["iterations"] = int(model.optimizer.iterations)
        found["params"] = model.count_params()
        found["log"] = list(csv.DictReader((folder / "log.csv").open()))
        found["files"] = sorted(path.name for path in folder.iterdir())
        model.save(folder / "trained.keras")
        kept = keras.models.load_model(folder / "trained.keras")
        found["more"] = kept.fit(data(), epochs=1, verbose=0).history
        return found

    def both(self, data, held):
        (self.folder / "theirs").mkdir()
        (self.folder / "ours").mkdir()
        theirs = self.session(make(), data, held, self.folder / "theirs")
        ours = self.session(mpc.compile(make()), data, held, self.folder / "ours")
        self.assertGreater(theirs["history"]["val_accuracy"][-1], 0.6)
        for name in ("history", "more"):
            self.same(ours[name], theirs[name])
        self.same(ours["evaluate"], theirs["evaluate"])
        for name in ("arrays", "predict", "call", "rates"):
            np.testing.assert_allclose(ours[name], theirs[name], **TOLERANCE, err_msg=name)
        for name in ("iterations", "params", "files"):
            self.assertEqual(ours[name], theirs[name], name)
        self.assertEqual([list(row) for row in ours["log"]], [list(row) for row in theirs["log"]])
        for which in ("theirs", "ours"):
            self.assertTrue(list((self.folder / which / "board" / "train").iterdir()), which)

    def test_tf_data(self):
        def dataset(x, y):
            return lambda: tf.data.Dataset.from_tensor_slices((x, y)).batch(32)

        self.both(dataset(self.x, self.y), dataset(self.held_x, self.held_y))

    def test_torch(self):
        def loader(x, y):
            pairs = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
            return lambda: torch.utils.data.DataLoader(pairs, batch_size=32)

        with warnings.catch_warnings():  # Keras's, of shuffle=True
            warnings.simplefilter("ignore")
            self.both(loader(self.x, self.y), loader(self.held_x, self.held_y))

    def test_generator(self):
        """Not as validation data: of a generator Keras drops the batches that it had prefetched when an epoch ended."""

        def endless(x, y):
            while True:
                for begin in range(0, len(x), 32):
                    yield x[begin : begin + 32], y[begin : begin + 32]

        results = []
        for model in (make(), mpc.compile(make())):
            history = model.fit(endless(self.x, self.y), epochs=3, steps_per_epoch=13, validation_data=(self.held_x, self.held_y), verbose=0)
            results.append((history.history, model.evaluate(endless(self.held_x, self.held_y), steps=3, verbose=0),
                            model.predict(endless(self.held_x, self.held_y), steps=3, verbose=0)))  # fmt: skip
        self.same(results[1][0], results[0][0])
        for ours, theirs in zip(results[1][1:], results[0][1:]):
            np.testing.assert_allclose(ours, theirs, **TOLERANCE)


class Sources(Case):
    def compare(self, data, **arguments):
        results = []
        for model in (make(), mpc.compile(make())):
            history = model.fit(data(), epochs=2, verbose=0, **arguments).history
            results.append((history, model.predict(data(), verbose=0), model.evaluate(data(), verbose=0, return_dict=True)))
        self.same(results[1][0], results[0][0])
        np.testing.assert_allclose(results[1][1], results[0][1], **TOLERANCE)
        self.same(results[1][2], results[0][2])

    def test_py_datasets(self):
        x, y = self.x, self.y

        class Data(keras.utils.PyDataset):
            def __len__(self):
                return 13

            def __getitem__(self, index):
                part = slice(32 * index, 32 * index + 32)
                return x[part], y[part]

        for workers in (1, 3):
            self.compare(lambda: Data(workers=workers), shuffle=False)  # pylint: disable=cell-var-from-loop

    def test_weights_and_names(self):
        weights = np.linspace(0.5, 2, 400).astype(np.float32)
        self.compare(lambda: tf.data.Dataset.from_tensor_slices(({"x": self.x}, self.y, weights)).batch(50))

    def test_steps(self):
        data = lambda: tf.data.Dataset.from_tensor_slices((self.x, self.y)).batch(32).repeat()  # noqa: E731
        results = [model.fit(data(), epochs=3, steps_per_epoch=5, verbose=0).history for model in (make(), mpc.compile(make()))]
        self.same(results[1], results[0])
        with self.assertRaisesRegex(mpc.InvalidArgumentError, "without an end; expected steps_per_epoch"):
            mpc.compile(make()).fit(data(), verbose=0)

    def test_memory_is_read_in_place(self):
        model = mpc.compile(make())
        seen, run = [], model._run
        model._run = lambda entry, inputs, outputs, count: (seen.append(inputs[0]), run(entry, inputs, outputs, count))
        for tensor in (tf.constant(self.x), torch.from_numpy(self.x)):
            model.predict(tensor, batch_size=400)
            self.assertTrue(np.shares_memory(seen[-1], np.from_dlpack(tensor)), type(tensor))
        given, collate = [], torch.utils.data.default_collate
        whole = torch.utils.data.TensorDataset(torch.from_numpy(self.x))

        def default_collate(rows):  # under the name of torch's, which it is
            given.append(collate(rows))
            return given[-1]

        model.predict(torch.utils.data.DataLoader(whole, batch_size=100, collate_fn=default_collate))
        self.assertTrue(all(np.shares_memory(one, np.from_dlpack(other[0])) for one, other in zip(seen[-4:], given)))

    def test_workers_of_torch(self):
        pairs = torch.utils.data.TensorDataset(torch.from_numpy(self.x), torch.from_numpy(self.y))
        model = mpc.compile(make())
        expected = model.evaluate(self.x, self.y, batch_size=32)
        self.assertEqual(model.evaluate(torch.utils.data.DataLoader(pairs, batch_size=32, num_workers=2)), expected)

    def test_pandas(self):
        frame, labels = pandas.DataFrame(self.x), pandas.Series(self.y)
        results = [model.fit(frame, labels, epochs=2, shuffle=False, validation_split=0.25, verbose=0).history for model in (make(), mpc.compile(make()))]
        self.same(results[1], results[0])
        with self.assertRaisesRegex(mpc.InvalidArgumentError, "input 'x': is an array of object; .*astype"):
            mpc.compile(make()).predict(pandas.DataFrame({"a": ["text"] * 3}))

    def test_float_labels(self):
        mpc.arrays._noted.clear()
        with self.assertWarnsRegex(UserWarning, "taken as such"):
            found = mpc.compile(make()).evaluate(self.x, self.y.astype(np.float32), verbose=0)
        np.testing.assert_allclose(found, make().evaluate(self.x, self.y.astype(np.float32), verbose=0), **TOLERANCE)


class Losses(Case):
    def test_no_targets(self):
        """A model whose layers bring the loss trains on inputs alone: arrays, and batches of nothing else."""

        def regularized():
            keras.utils.set_random_seed(3)
            inputs = keras.Input((16,), name="x")
            hidden = keras.layers.ActivityRegularization(l2=0.1)(keras.layers.Dense(3)(inputs))
            model = keras.Model(inputs, keras.layers.Dense(2, activity_regularizer="l1")(hidden))
            model.compile("adam")
            return model

        results = []
        for model in (regularized(), mpc.compile(regularized())):
            found = model.fit(self.x, epochs=2, shuffle=False, verbose=0).history
            more = model.fit(tf.data.Dataset.from_tensor_slices(self.x).batch(40), epochs=2, verbose=0).history
            results.append((found, more, model.evaluate(self.x, verbose=0, return_dict=True)))
        for ours, theirs in zip(results[1], results[0]):
            self.same(ours, theirs)


class Callbacks(Case):
    def test_signatures(self):
        """The native ones take what Keras's take, by position and by name."""
        compared = 0
        for name in mpc.callbacks.__all__:
            if name not in ("ProgressBar", "ForwardProgressBar"):
                ours, theirs = [[(each.name, each.default) for each in inspect.signature(getattr(where, name)).parameters.values() if each.kind != each.VAR_KEYWORD]
                                for where in (mpc.callbacks, keras.callbacks)]  # fmt: skip
                self.assertEqual(ours, theirs, name)
                compared += 1
        self.assertGreaterEqual(compared, 12)

    def test_words(self):
        """With verbose=1 they print the same as those of Keras."""
        told = []
        for where, model in ((mpc.callbacks, mpc.compile(make())), (keras.callbacks, make())):
            hooks = [where.EarlyStopping("loss", 10, 2, 1, restore_best_weights=True), where.ReduceLROnPlateau("loss", 0.5, 1, 1, "min", 10)]
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                self.fit(model, *hooks, epochs=9)
            told.append(stream.getvalue())
        self.assertEqual(*told)
        self.assertIn("early stopping", told[0])

    def fit(self, model, *hooks, **named):
        return model.fit(self.x, self.y, **{"batch_size": 40, "shuffle": False, "verbose": 0, "callbacks": list(hooks), **named}).history

    def test_plateau(self):
        found = [self.fit(model, keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=1, min_delta=0.5), epochs=4)
                 for model in (make(), mpc.compile(make()))]  # fmt: skip
        self.same(found[1], found[0])
        self.assertLess(found[1]["learning_rate"][-1], 0.01)

    def test_averages(self):
        """Keras's swap of weights and averages on TensorFlow adds and subtracts them, here as there."""
        averaging = {"use_ema": True, "ema_momentum": 0.9}
        for hook in (keras.callbacks.SwapEMAWeights, mpc.callbacks.SwapEMAWeights):
            results = []
            for model in (make(keras.optimizers.Adam(0.01, **averaging)), mpc.compile(make(keras.optimizers.Adam(0.01, **averaging)))):
                swap = keras.callbacks.SwapEMAWeights() if isinstance(model, keras.Model) else hook()
                history = self.fit(model, swap, epochs=3, validation_data=(self.held_x, self.held_y))
                results.append((history, model.predict(self.held_x, verbose=0)))
            self.same(results[1][0], results[0][0])
            np.testing.assert_allclose(results[1][1], results[0][1], rtol=1e-3, atol=1e-4)

    def test_early_stopping_by_metric(self):
        """With mode="auto" it asks the metrics of the model."""
        found = [self.fit(model, keras.callbacks.EarlyStopping(monitor="accuracy", patience=1, min_delta=0.05), epochs=9)
                 for model in (make(), mpc.compile(make()))]  # fmt: skip
        self.same(found[1], found[0])
        self.assertLess(len(found[1]["loss"]), 9)

    def test_backup(self):
        class Fails(keras.callbacks.Callback):
            def on_epoch_begin(self, epoch, logs=None):
                if epoch == 2:
                    raise KeyboardInterrupt

        expected = self.fit(mpc.compile(make()), epochs=4)
        backup = lambda: keras.callbacks.BackupAndRestore(str(self.folder / "backup"))  # noqa: E731
        with self.assertRaises(KeyboardInterrupt):
            self.fit(mpc.compile(make()), backup(), Fails(), epochs=4)
        np.testing.assert_array_equal(self.fit(mpc.compile(make()), backup(), epochs=4)["loss"], expected["loss"][2:])

    def test_tensorboard(self):
        """Every kind of what it writes."""
        hook = keras.callbacks.TensorBoard(str(self.folder), histogram_freq=1, write_images=True, write_steps_per_second=True, update_freq="batch")
        self.fit(mpc.compile(make()), hook, epochs=2, validation_data=(self.held_x, self.held_y))
        tags = {"train": set(), "validation": set()}
        for which, found in tags.items():
            for path in (self.folder / which).iterdir():
                for event in tf.compat.v1.train.summary_iterator(str(path)):
                    found.update(value.tag for value in event.summary.value)
        self.assertLessEqual({"epoch_loss", "epoch_accuracy", "batch_loss", "epoch_steps_per_second", "hidden/kernel/histogram"}, tags["train"])
        self.assertLessEqual({"epoch_loss", "evaluation_loss_vs_iterations"}, tags["validation"])

    def test_native_events(self):
        self.fit(mpc.compile(make()), mpc.callbacks.TensorBoard(self.folder), epochs=2)
        (path,) = (self.folder / "train").iterdir()
        found = {(event.step, value.tag) for event in tf.compat.v1.train.summary_iterator(str(path)) for value in event.summary.value}
        self.assertEqual(found, {(epoch, f"epoch_{name}") for epoch in (0, 1) for name in ("loss", "accuracy", "learning_rate")})

    def test_loss_scale(self):
        model = mpc.compile(make(), "mixed_float16")
        model.optimizer.loss_scale = 2048
        self.fit(model)
        self.assertEqual(model.optimizer.loss_scale, 2048)

    def test_summary_counts(self):
        model, lines = make(), []
        compiled = mpc.compile(model)
        compiled.summary(print_fn=lines.append)
        self.assertEqual(compiled.count_params(), model.count_params())
        theirs = {layer.name: layer.count_params() for layer in model.layers}
        self.assertEqual({layer.name: layer.count_params() for layer in compiled.layers}, {name: theirs[name] for name in theirs if name != "x"})
        self.assertEqual([layer.output_shape for layer in compiled.layers], [(None, 32), (None, 32), (None, 4)])
        self.assertIn("f32" if "f32" in lines[0] else "float32", lines[0])


if __name__ == "__main__":
    unittest.main()
