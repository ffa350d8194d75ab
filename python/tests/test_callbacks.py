# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Callbacks of mpc.callbacks, and what callbacks see of the model. Needs MPC_BIN and NumPy."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest
import warnings

import numpy as np

import mpc
from mpc import callbacks

BLOBS = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "c_predict" / "blobs.json"
TRAINING = {"loss": "sparse_categorical_crossentropy", "optimizer": "rmsprop", "metrics": ["accuracy"], "initialize": 7}
AVERAGING = {"class_name": "SGD", "config": {"learning_rate": 0.1, "use_ema": True, "ema_momentum": 0.5}}


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.compiled = mpc.compile(BLOBS, output=cls.folder / "blobs.mpc", **TRAINING)
        draw = np.random.default_rng(1)
        cls.x = draw.normal(size=(96, 4)).astype(np.float32)
        cls.y = (np.argmax(cls.x[:, :3], axis=1)).astype(np.int32)

    @classmethod
    def tearDownClass(cls):
        del cls.compiled
        cls.temporary.cleanup()

    def load(self):
        return mpc.load(self.folder / "blobs.mpc")

    def fit(self, model, *hooks, **named):
        return model.fit(self.x, self.y, **{"batch_size": 32, "verbose": 0, "shuffle": False, "callbacks": list(hooks), **named}).history


class Order(Case):
    def test_hooks(self):
        """In the order of Keras's `fit`, `evaluate` and `predict`."""
        seen = []

        class Watch(mpc.Callback):
            def __getattribute__(self, name):
                if name.startswith("on_"):
                    return lambda *arguments: seen.append((name[3:], *arguments[:-1], *sorted(arguments[-1])))
                return super().__getattribute__(name)

        model, watch = self.load(), Watch()
        self.fit(model, watch, batch_size=48, validation_data=(self.x[:48], self.y[:48]))
        values, held = ("accuracy", "loss"), ("accuracy", "loss", "val_accuracy", "val_loss")
        test = [("test_begin",), ("test_batch_begin", 0), ("test_batch_end", 0, *values), ("test_end", *values)]
        self.assertEqual(seen, [("train_begin",), ("epoch_begin", 0), ("train_batch_begin", 0), ("train_batch_end", 0, *values), ("train_batch_begin", 1),
                                ("train_batch_end", 1, *values), *test, ("epoch_end", 0, *held), ("train_end", *held)])  # fmt: skip
        seen.clear()
        model.evaluate(self.x, self.y, batch_size=96, callbacks=[[watch]])
        self.assertEqual(seen, test)
        seen.clear()
        model.predict(self.x, batch_size=96, callbacks=watch)
        self.assertEqual(seen, [("predict_begin",), ("predict_batch_begin", 0), ("predict_batch_end", 0, "outputs"), ("predict_end",)])

    def test_metrics_are_read_where_somebody_looks(self):
        model, read = self.load(), []
        metric = model._context.metric
        model._context = type("Counting", (), {"__getattr__": lambda _, name: getattr(self.context, name)})()
        self.context = self.load()._context  # pylint: disable=attribute-defined-outside-init
        model._context.metric = lambda index: (read.append(index), metric(index))[1]
        self.fit(model, mpc.Callback(), callbacks.CSVLogger(self.folder / "read.csv"))
        self.assertEqual(len(read), 2)

    def test_stops(self):
        class Stop(mpc.Callback):
            count = 0

            def on_test_batch_end(self, batch, logs=None):
                self.model.stop_evaluating = batch == 1

            def on_predict_batch_end(self, batch, logs=None):
                self.model.stop_predicting = batch == 1
                self.count = batch + 1

        model, stop = self.load(), Stop()
        self.assertEqual(model.evaluate(self.x, self.y, 16, callbacks=[stop]), model.evaluate(self.x[:32], self.y[:32], 16))
        model.predict(self.x, 16, callbacks=[stop])
        self.assertEqual(stop.count, 2)

    def test_older_names(self):
        """Keras calls on_batch_begin and on_batch_end where a callback has these, and reads metrics for them."""
        seen = []

        class Older(mpc.Callback):
            def on_batch_begin(self, batch, logs=None):
                seen.append(batch)

            def on_batch_end(self, batch, logs=None):
                seen.append((batch, *sorted(logs)))

        self.fit(self.load(), Older(), batch_size=48)
        self.assertEqual(seen, [0, (0, "accuracy", "loss"), 1, (1, "accuracy", "loss")])

    def test_functions(self):
        seen = []
        hook = callbacks.LambdaCallback(None, lambda epoch, logs: seen.append(epoch), on_test_end=lambda logs: seen.append("test"), on_train_end=None)
        self.fit(self.load(), hook, epochs=2, validation_split=0.5)
        self.assertEqual(seen, ["test", 0, "test", 1])
        with self.assertRaisesRegex(TypeError, "no hook 'on_epoch'"):
            callbacks.LambdaCallback(on_epoch=print)

    def test_progress(self):
        bar = callbacks.ForwardProgressBar(2, stream := io.StringIO())
        self.load().evaluate(self.x, self.y, 32, callbacks=[bar])
        self.assertRegex(stream.getvalue(), r"^3/3 - 0s \d+ms/step - accuracy: 0\.\d{4} - loss: \d\.\d{4}\n$")


class LearningRate(Case):
    def test_scheduler(self):
        for schedule in (lambda epoch, rate: rate * 0.5 if epoch else rate, lambda epoch: 0.001 * 0.5**epoch):
            history = self.fit(self.load(), callbacks.LearningRateScheduler(schedule), epochs=3)
            np.testing.assert_allclose(history["learning_rate"], [0.001, 0.0005, 0.00025], rtol=1e-6)
        with self.assertRaisesRegex(mpc.InvalidArgumentError, "gave 1 for epoch 0; expected a float"):
            self.fit(self.load(), callbacks.LearningRateScheduler(lambda epoch: 1))

    def test_optimizer(self):
        model = self.load()
        optimizer = model.optimizer
        self.assertAlmostEqual(float(optimizer.learning_rate), 0.001)
        optimizer.learning_rate = 0.25
        self.assertEqual((model.learning_rate, optimizer.learning_rate, f"{optimizer.learning_rate:.2f}"), (0.25, 0.25, "0.25"))
        optimizer.learning_rate.assign(optimizer.learning_rate * 2)
        self.assertEqual(model.learning_rate, 0.5)
        self.fit(model)
        self.assertEqual(int(optimizer.iterations), 3)
        optimizer.iterations = 10
        self.assertEqual(int(np.asarray(optimizer.iterations)), 10)
        self.assertEqual((optimizer.loss_scale, optimizer.use_ema), (1.0, False))
        for name, wrong in (("learning_rate", "a"), ("learning_rate", float("nan")), ("loss_scale", "a")):
            with self.assertRaises(mpc.InvalidArgumentError):
                setattr(optimizer, name, wrong)
        with self.assertRaises(mpc.FailedPreconditionError):
            optimizer.loss_scale = 2.0
        self.assertFalse(hasattr(optimizer, "inner_optimizer"))
        self.assertIsNone(mpc.compile(BLOBS, mode="infer").optimizer)

    def test_loss_scale(self):
        model = mpc.compile(BLOBS, policy="mixed_float16", **TRAINING)
        self.assertEqual(model.optimizer.loss_scale, 32768)
        model.optimizer.loss_scale = 1024
        self.assertEqual(model.loss_scale, 1024)
        self.fit(model)
        self.assertEqual((model.loss_scale, int(model.optimizer.iterations)), (1024, 3))
        with self.assertRaises(mpc.InvalidArgumentError):
            model.optimizer.loss_scale = -1.0


class Told(Case):
    """With verbose=1 callbacks print Keras's words."""

    def told(self, *hooks, **named):
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            self.fit(self.load(), *hooks, **named)
        return stream.getvalue()

    def test_stopping(self):
        hook = callbacks.EarlyStopping("loss", 10, 2, 1, restore_best_weights=True)
        self.assertEqual(self.told(hook, epochs=9), "Epoch 3: early stopping\nRestoring model weights from the end of the best epoch: 1.\n")
        self.assertEqual(self.told(hook, epochs=2), "Restoring model weights from the end of the best epoch: 1.\n")
        self.assertEqual(self.told(callbacks.EarlyStopping("loss", 10, 2), epochs=9), "")

    def test_plateau(self):
        hook = callbacks.ReduceLROnPlateau("loss", 0.5, 1, 1, "min", 10, 2)
        self.assertEqual(self.told(hook, epochs=3), f"\nEpoch 2: ReduceLROnPlateau reducing learning rate to {np.float32(0.001) * 0.5}.\n")

    def test_no_number(self):
        x = np.full((4, 4), np.nan, np.float32)
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            found = self.load().fit(x, self.y[:4], batch_size=2, epochs=3, verbose=0, callbacks=[callbacks.TerminateOnNaN()])
        self.assertEqual((stream.getvalue(), len(found.epoch)), ("Batch 0: Invalid loss, terminating training\n", 1))
        with self.assertRaisesRegex(mpc.FailedPreconditionError, "the loss of batch 0 is nan; expected a finite one"):
            self.load().fit(x, self.y[:4], verbose=0, callbacks=[callbacks.TerminateOnNaN(raise_error=True)])


class Saving(Case):
    def test_checkpoints(self):
        path = str(self.folder / "kept" / "at-{epoch}-{batch}.weights.h5")
        model = mpc.compile(BLOBS)
        self.fit(model, callbacks.ModelCheckpoint(path, save_weights_only=True, save_freq=2), epochs=2)
        self.assertEqual(sorted(file.name for file in (self.folder / "kept").iterdir()), ["at-1-2.weights.h5", "at-2-1.weights.h5", "at-2-3.weights.h5"])
        other = mpc.compile(BLOBS)
        other.load_weights(path.format(epoch=2, batch=3))
        for one, two in zip(model.variables, other.variables):
            if one.role in ("trainable", "optimizer"):
                self.assertEqual(one.numpy().tobytes(), two.numpy().tobytes(), one.path)
        best = callbacks.ModelCheckpoint(self.folder / "best.safetensors", "loss", save_best_only=True, initial_value_threshold=0.0)
        self.fit(model, best)
        self.assertFalse((self.folder / "best.safetensors").exists())
        with self.assertRaisesRegex(mpc.InvalidArgumentError, "save_freq is 'often'; expected 'epoch' or a number"):
            callbacks.ModelCheckpoint("x", save_freq="often")
        with self.assertRaisesRegex(mpc.InvalidArgumentError, "names 'val_loss', which is not among epoch, accuracy, loss"):
            self.fit(model, callbacks.ModelCheckpoint(str(self.folder / "{val_loss}.safetensors")))
        with self.assertRaisesRegex(mpc.UnavailableError, "overwrite is False"):
            model.save_weights(path.format(epoch=2, batch=3), overwrite=False)
        with self.assertRaisesRegex(mpc.InvalidArgumentError, "holds whole models"):
            model.save_weights(self.folder / "a.keras")

    def test_goes_on_where_it_was_interrupted(self):
        class Fails(mpc.Callback):
            def on_epoch_begin(self, epoch, logs=None):
                if epoch == 2:
                    raise KeyboardInterrupt

        expected = self.fit(self.load(), epochs=4)
        folder = self.folder / "backup"
        with self.assertRaises(KeyboardInterrupt):
            self.fit(self.load(), callbacks.BackupAndRestore(folder), Fails(), epochs=4)
        self.assertEqual(len(list(folder.iterdir())), 2)
        model = self.load()
        found = self.fit(model, callbacks.BackupAndRestore(folder), epochs=4)
        self.assertEqual(found["loss"], expected["loss"][2:])
        self.assertFalse(folder.exists())
        self.assertEqual(len(self.fit(model, epochs=2)["loss"]), 2)  # and the next call begins at its beginning

    def test_two_states_are_kept(self):
        class Fails(mpc.Callback):
            def on_epoch_begin(self, epoch, logs=None):
                if epoch == 3:
                    raise KeyboardInterrupt

        expected = self.fit(self.load(), epochs=5)["loss"]
        folder = self.folder / "double"
        named = folder / "training_metadata.json"
        with self.assertRaises(KeyboardInterrupt):
            self.fit(self.load(), callbacks.BackupAndRestore(folder, double_checkpoint=True), Fails(), epochs=5)
        states = json.loads(named.read_text())["states"]
        self.assertEqual(([state["epoch"] for state in states], len(list(folder.iterdir()))), ([3, 2], 3))
        last = folder / states[0]["state"]
        last.write_bytes(last.read_bytes()[:-1])
        with self.assertWarnsRegex(UserWarning, "goes on from the state before that one"):
            found = self.fit(self.load(), callbacks.BackupAndRestore(folder, double_checkpoint=True), epochs=5)["loss"]
        self.assertEqual(found, expected[2:])
        for text in ("", "[]", '{"states": [{"epoch": "a", "state": "b"}]}', '{"states": [1]}'):
            folder.mkdir(exist_ok=True)
            named.write_text(text)
            with self.assertRaisesRegex(mpc.DataLossError, "training_metadata.json: does not name epochs .*; remove the folder"):
                self.fit(self.load(), callbacks.BackupAndRestore(folder))

    def test_averages(self):
        model = mpc.compile(BLOBS, output=self.folder / "averaged.mpc", **{**TRAINING, "optimizer": AVERAGING})
        seen = []

        class Watch(mpc.Callback):
            def on_test_begin(self, logs=None):
                seen.append([weight.tobytes() for weight in self.model.get_weights()])

            def on_epoch_end(self, epoch, logs=None):
                seen.append([weight.tobytes() for weight in self.model.get_weights()])
                seen.append([average.numpy().tobytes() for average in self.model.optimizer.moving_averages])

        expected = self.fit(mpc.load(self.folder / "averaged.mpc"), epochs=2)
        held = {"validation_data": (self.x, self.y), "epochs": 2}
        self.assertEqual(self.fit(model, callbacks.SwapEMAWeights(), Watch(), **held)["loss"], expected["loss"])
        self.assertEqual(seen[0], seen[2])
        self.assertNotEqual(seen[0], seen[1])
        self.assertEqual([weight.tobytes() for weight in model.get_weights()], seen[5])
        swapped = mpc.load(self.folder / "averaged.mpc")
        seen.clear()
        self.assertEqual(self.fit(swapped, callbacks.SwapEMAWeights(swap_on_epoch=True), Watch(), epochs=2)["loss"], expected["loss"])
        for one, two in zip(model.weights, swapped.weights):
            self.assertEqual(one.numpy().tobytes(), two.numpy().tobytes())
        with self.assertRaisesRegex(mpc.FailedPreconditionError, "no moving averages; expected one with use_ema=True"):
            self.load().evaluate(self.x, self.y, callbacks=[callbacks.SwapEMAWeights()])

    def test_tensorboard(self):
        folder = self.folder / "board"
        self.fit(self.load(), callbacks.TensorBoard(folder), epochs=2, validation_split=0.5)
        content = b"".join(path.read_bytes() for path in (folder / "train").iterdir())
        for tag in (b"epoch_loss", b"epoch_accuracy", b"epoch_learning_rate"):
            self.assertEqual(content.count(tag), 2)
        self.assertEqual(b"".join(path.read_bytes() for path in (folder / "validation").iterdir()).count(b"epoch_loss"), 2)
        with self.assertRaisesRegex(mpc.InvalidArgumentError, "histogram_freq is 1; .*keras.callbacks.TensorBoard"):
            callbacks.TensorBoard(folder, 1)
        (self.folder / "file").write_text("")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.fit(self.load(), callbacks.TensorBoard(self.folder / "file" / "inside"), epochs=2)
        self.assertEqual(len(caught), 1)
        self.assertRegex(str(caught[0].message), "cannot create: .*; training goes on")


if __name__ == "__main__":
    unittest.main()
