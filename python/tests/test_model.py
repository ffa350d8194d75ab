# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package mpc as its users meet it. Needs MPC_BIN (mpcc, mpc-run, mpc-convert) and NumPy."""

import gc
import io
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest
import warnings

import ml_dtypes
import numpy as np

import mpc

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOBS = ROOT / "examples" / "c_predict" / "blobs.json"
GUIDE = ROOT / "examples" / "mnist_mlp" / "model_256.keras"
TRAINING = {"loss": "sparse_categorical_crossentropy", "optimizer": "rmsprop", "metrics": ["accuracy"]}


def digits(rows, seed=0):
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 10, rows).astype(np.int32)
    x = draw.uniform(size=(rows, 784)).astype(np.float32) * 0.3
    x[np.arange(rows), y * 70] += 2
    return x, y


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_tool(self, name, *arguments):
        subprocess.run([os.path.join(os.environ["MPC_BIN"], name), *map(str, arguments)], check=True, capture_output=True)


class Predicting(Case):
    def test_equals_mpc_run(self):
        model = mpc.compile(GUIDE, policy="mixed_float16", output=self.folder / "guide", name="guide")
        x, _ = digits(70)
        np.savez(self.folder / "x.npz", x0=x)
        self.run_tool("mpc-run", "predict", self.folder / "guide", "--inputs", self.folder / "x.npz", "--outputs", self.folder / "y.npz", "--batch-size", 32)
        with np.load(self.folder / "y.npz") as expected:
            self.assertEqual(model.predict(x).tobytes(), expected["out0"].tobytes())
        self.assertEqual((model.policy, model.name), ("mixed_float16", "guide"))
        self.assertEqual(model(x[:1]).shape, (1, 10))
        self.assertEqual(mpc.load(self.folder / "guide").predict(x).tobytes(), model.predict(x).tobytes())
        self.assertEqual(model.predict(x[:0]).shape, (0, 10))

    def test_reads_in_place(self):
        """A run reads the caller's memory, and writes into slices of the result."""
        model = mpc.compile(GUIDE)
        x, _ = digits(64)
        seen = []
        run = model._run
        model._run = lambda entry, inputs, outputs, rows: (seen.append((inputs[0], outputs[0])), run(entry, inputs, outputs, rows))
        result = model.predict(x)
        self.assertEqual(len(seen), 2)
        for given, out in seen:
            self.assertTrue(np.shares_memory(given, x))
            self.assertTrue(np.shares_memory(out, result))

    def test_dtypes(self):
        model = mpc.compile(GUIDE)
        x, _ = digits(4)
        expected = model.predict(x)
        self.assertTrue(np.array_equal(model.predict(x.astype(np.float64)), expected))
        self.assertTrue(np.array_equal(model.predict(np.asfortranarray(x)), expected))
        self.assertTrue(np.array_equal(model.predict({"digits": x}), expected))
        self.assertEqual(model.predict([[0] * 784]).shape, (1, 10))
        with self.assertRaisesRegex(ValueError, r"input 'digits': has rows of shape \(783,\); expected \(784,\)"):
            model.predict(x[:, 1:])
        with self.assertRaisesRegex(ValueError, "'pixels' is not of the model|'digits' is missing"):
            model.predict({"pixels": x})
        with self.assertRaisesRegex(ValueError, "expected numbers"):
            model.predict(np.full((1, 784), "a"))

    def test_outputs_inside_each_other(self):
        """As Keras puts them together; targets may come so, too."""
        folder = ROOT / "test" / "Models" / "layers"
        recorded = np.load(folder / "nested_outputs_leaves.npz")
        model = mpc.compile(folder / "nested_outputs_leaves.keras", output=self.folder / "nested")
        found = model.predict(recorded["x"])
        self.assertEqual({name: type(part) for name, part in found.items()}, {"p": np.ndarray, "q": list})
        self.assertEqual([part.shape[1:] for part in (found["p"], *found["q"])], [(2,), (3,), (1,)])
        targets = [recorded[f"y{i}"] for i in range(3)]
        nested = {"p": targets[0], "q": targets[1:]}
        self.assertEqual(model.evaluate(recorded["x"], nested, return_dict=True), model.evaluate(recorded["x"], targets, return_dict=True))
        self.assertEqual(list(model.predict(recorded["x"], dlpack=True)), list(found))
        # A manifest is a file as any other.
        for wrong in ([0, 1], [0, 1, 1], [0, [1, "2"]], [0, 1, 3], [0, 1, True]):
            with self.assertRaisesRegex(mpc.DataLossError, "output_structure"):
                mpc.structure.check(wrong, 3)

    def test_bfloat16_and_dlpack(self):
        model = mpc.compile(GUIDE, policy="bfloat16", options=["--output-guard=off"])
        x, _ = digits(8)
        out = model.predict(x.astype(ml_dtypes.bfloat16))
        self.assertEqual(out.dtype, ml_dtypes.bfloat16)
        tensor = model.predict(x, dlpack=True)
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        again = model.predict(tensor_input := mpc.as_dlpack(x.astype(ml_dtypes.bfloat16)))
        self.assertEqual(again.tobytes(), out.tobytes())
        self.assertTrue(hasattr(tensor_input, "__dlpack__"))
        shared = np.from_dlpack(mpc.as_dlpack(x))
        self.assertTrue(np.shares_memory(shared, x))
        self.assertTrue(np.shares_memory(mpc.arrays.to_numpy(mpc.as_dlpack(x)), x))

    def test_threads_share_a_model(self):
        model = mpc.compile(GUIDE, threads=1)
        x, _ = digits(40)
        expected, wrong = model.predict(x).tobytes(), []

        def work():
            for _ in range(50):
                if model.predict(x).tobytes() != expected:
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Training(Case):
    def test_same_losses_as_mpc_run(self):
        for policy in ["float32", "mixed_bfloat16", "mixed_float16"]:
            with self.subTest(policy):
                folder = self.folder / policy
                model = mpc.compile(GUIDE, policy=policy, output=folder, name="guide", **TRAINING)
                x, y = digits(600)
                data = self.folder / "data.npz"
                np.savez(data, x0=x, y0=y)
                self.run_tool("mpc-run", "train", folder, "--data", data, "--epochs", 3, "--batch-size", 64, "--validation-split", 0.2,
                              "--json-log", self.folder / "log.json", "--save", self.folder / "trained.safetensors")  # fmt: skip
                history = model.fit(x, y, batch_size=64, epochs=3, validation_split=0.2, verbose=0)
                rows = [json.loads(line) for line in (self.folder / "log.json").read_text().splitlines()]
                for name in ["loss", "accuracy", "val_loss", "val_accuracy"]:
                    self.assertEqual(history.history[name], [row[name] for row in rows], name)
                self.assertLess(history.history["loss"][-1], history.history["loss"][0])
                other = mpc.load(folder)
                other.load(self.folder / "trained.safetensors")
                for one, two in zip(model.weights, other.weights):
                    self.assertEqual(one.numpy().tobytes(), two.numpy().tobytes(), one.path)

    def test_evaluate_and_gradients(self):
        model = mpc.compile(GUIDE, **TRAINING)
        x, y = digits(96)
        loss, accuracy = model.evaluate(x, y)
        named = model.evaluate(x, y[:, None], return_dict=True, sample_weight=np.ones(96))
        self.assertEqual((loss, accuracy), (named["loss"], named["accuracy"]))
        found = model.gradients(x, y)
        self.assertAlmostEqual(found.loss, loss, places=4)
        self.assertEqual(set(found.variables), {variable.path for variable in model.trainable_variables})
        self.assertEqual(found.inputs["digits"].shape, x.shape)
        # A step against the gradient makes the loss smaller.
        for variable in model.trainable_variables:
            variable.assign(variable.numpy() - 0.1 * found.variables[variable.path])
        self.assertLess(model.gradients(x, y).loss, found.loss)
        # Labels that are integers are taken as such, as Keras casts them; others would be cut off.
        mpc.arrays._noted.clear()
        expected = model.evaluate(x, y)
        with self.assertWarnsRegex(UserWarning, "target .*: is float32, where the model has integers"):
            self.assertEqual(model.evaluate(x, y.astype(np.float32)), expected)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it is said once
            self.assertEqual(model.evaluate(x, y.astype(np.float64)), expected)
        for wrong in (0.5, float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, "target .*: is float32 and row 3 is .*; expected integers"):
                model.evaluate(x, np.where(np.arange(96) == 3, np.float32(wrong), y.astype(np.float32)))
        with self.assertRaisesRegex(ValueError, "has 95 rows; input 'digits' has 96"):
            model.evaluate(x, y[1:])
        with self.assertRaisesRegex(mpc.InvalidArgumentError, "77"):
            model.evaluate(x, np.full(96, 77, np.int32))

    def test_callbacks(self):
        model = mpc.compile(GUIDE, **TRAINING)
        x, y = digits(100)
        calls = []

        class Watch(mpc.Callback):
            def on_train_begin(self, logs=None):
                calls.append("begin")

            def on_train_batch_end(self, batch, logs=None):
                calls.append((batch, sorted(logs)))

            def on_epoch_end(self, epoch, logs=None):
                self.model.stop_training = epoch == 1

        log = self.folder / "log.csv"
        checkpoint = str(self.folder / "at-{epoch}.safetensors")
        history = model.fit(x, y, batch_size=50, epochs=9, verbose=0,
                            callbacks=[Watch(), mpc.callbacks.CSVLogger(str(log)), mpc.callbacks.ModelCheckpoint(checkpoint)])  # fmt: skip
        self.assertEqual(history.epoch, [0, 1])
        self.assertEqual(calls, ["begin", *[(i, ["accuracy", "loss"]) for i in (0, 1)] * 2])
        self.assertEqual(log.read_text().splitlines()[0], "epoch,accuracy,loss")
        # Names of metrics are a model file's.
        bar = mpc.callbacks.ProgressBar(1, io.StringIO())
        bar.set_params({"epochs": 1, "steps": 1})
        bar.on_epoch_begin(0)
        bar.on_epoch_end(0, {"\x1b[31m\u202e": 1.0})
        self.assertIn("\\x1b[31m\\u202e: 1.0000", bar.stream.getvalue())
        table = mpc.callbacks.CSVLogger(str(log))
        table.on_train_begin()
        table.on_epoch_end(0, {"=a\n\x07": 1.0})
        table.on_train_end()
        self.assertEqual(log.read_text().splitlines(), ["epoch,'=a\\n\\x07", "0,1.0"])
        before = model.get_weights()
        model.load(self.folder / "at-1.safetensors")
        self.assertFalse(np.array_equal(before[0], model.get_weights()[0]))
        stop = mpc.callbacks.EarlyStopping("loss", patience=1, mode="max", restore_best_weights=True)
        self.assertEqual(model.fit(x, y, epochs=9, verbose=0, callbacks=[stop]).epoch, [0, 1])
        rate = model.learning_rate
        model.fit(x, y, epochs=3, verbose=0, callbacks=[mpc.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, mode="max")])
        self.assertAlmostEqual(model.learning_rate, rate * 0.25)
        # More of R2 is better, less of an error; mpc does not know names of one's own.
        for monitor, values, epochs in (("val_r2_score", (0.1, 0.5, 0.9), 3), ("mean_squared_error_1", (0.1, 0.5, 0.9), 2)):
            stop, stopped = mpc.callbacks.EarlyStopping(monitor, patience=1), []
            stop.set_model(model)
            stop.on_train_begin()
            for epoch, value in enumerate(values):
                model.stop_training = False
                stop.on_epoch_end(epoch, {monitor: value})
                stopped.append(model.stop_training)
            self.assertEqual(stopped.index(True) + 1 if True in stopped else 3, epochs)
        # keras.callbacks.EarlyStopping does this with the same losses.
        for options, epochs in (({}, 3), ({"baseline": 0.1}, 2), ({"start_from_epoch": 2}, 5), ({"baseline": 9}, 3)):
            stop = mpc.callbacks.EarlyStopping("loss", patience=2, **options)
            stop.set_model(model)
            stop.on_train_begin()
            model.stop_training, epoch = False, -1
            while not model.stop_training:
                epoch += 1
                stop.on_epoch_end(epoch, {"loss": (0.5, 0.6, 0.7, 0.8, 0.9)[epoch]})
            self.assertEqual(epoch + 1, epochs)
        # Each call of fit begins anew, as in Keras.
        plateau = mpc.callbacks.ReduceLROnPlateau(monitor="loss", patience=1)
        plateau.best, plateau.wait, plateau.cooling = -1e9, 7, 7
        before = model.learning_rate
        model.fit(x, y, verbose=0, callbacks=[plateau])
        self.assertEqual((model.learning_rate, plateau.wait, plateau.cooling), (before, 0, 0))
        with self.assertRaisesRegex(ValueError, "pass mode='max' or mode='min'"):
            mpc.callbacks.ModelCheckpoint("at.safetensors", "top2")
        for wrong in (float("nan"), float("inf"), 1e39):
            with self.assertRaisesRegex(mpc.InvalidArgumentError, "expected a finite number"):
                model.learning_rate = wrong
        self.assertAlmostEqual(model.learning_rate, rate * 0.25)

    def test_class_weights(self):
        x, y = digits(64)
        weights = {0: 3.0, 4: 0.5}
        one, other = mpc.compile(GUIDE, **TRAINING), mpc.compile(GUIDE, **TRAINING)
        given = np.array([weights.get(int(label), 1.0) for label in y], np.float32)
        first = one.fit(x, y, epochs=1, verbose=0, class_weight=weights).history
        self.assertEqual(first, other.fit(x, y, epochs=1, verbose=0, sample_weight=given).history)

    def test_class_weights_leave_validation_alone(self):
        x, y = digits(96)
        arguments = {"epochs": 2, "verbose": 0, "class_weight": {0: 30.0, 4: 0.5}, "shuffle": False}
        split = mpc.compile(GUIDE, **TRAINING).fit(x, y, validation_split=0.25, **arguments).history
        apart = mpc.compile(GUIDE, **TRAINING).fit(x[:72], y[:72], validation_data=(x[72:], y[72:]), **arguments).history
        self.assertEqual(split, apart)

    def test_epochs_without_validation(self):
        x, y = digits(64)
        kept = self.folder / "best.safetensors"
        for frequency in (2, [2, 4]):
            hooks = [mpc.callbacks.EarlyStopping(patience=9), mpc.callbacks.ReduceLROnPlateau(), mpc.callbacks.ModelCheckpoint(kept, save_best_only=True)]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                history = mpc.compile(GUIDE, **TRAINING).fit(x, y, epochs=4, verbose=0, validation_split=0.25, validation_freq=frequency, callbacks=hooks)
            self.assertEqual((len(history.history["loss"]), len(history.history["val_loss"])), (4, 2))
            texts = sorted({str(each.message).split(" which")[0] for each in caught})
            self.assertEqual(texts, ["Can save best model only with val_loss available.", "Early stopping conditioned on metric `val_loss`",
                                     "Learning rate reduction is conditioned on metric `val_loss`"])  # fmt: skip
            self.assertTrue(kept.exists())

    def test_averages_of_no_epoch(self):
        x, y = digits(64)
        model = mpc.compile(GUIDE, **{**TRAINING, "optimizer": {"class_name": "SGD", "config": {"use_ema": True, "ema_momentum": 0.5}}})
        before = model.get_weights()
        model.fit(x, y, epochs=0, verbose=0)
        for one, other in zip(before, model.get_weights()):
            np.testing.assert_array_equal(one, other)

    def test_names_of_files(self):
        folder = self.folder / "several"
        sources = {"_.keras": GUIDE, "ü.json": BLOBS, "3d.keras": GUIDE, "mpc_rt.json": BLOBS}
        for name, source in sources.items():
            shutil.copy(source, self.folder / name)
        for name, source in sources.items():
            model = mpc.compile(self.folder / name, output=folder)
            self.assertEqual([variable.path for variable in model.variables], [variable.path for variable in mpc.compile(source).variables], name)
        self.assertEqual(sorted(path.name for path in folder.glob("*.so")), ["lib_.so", "lib__.so", "libm3d.so", "libmmpc_rt.so"])
        # Where the program goes does not matter to the model.
        before = os.getcwd()
        try:
            os.chdir(self.folder)
            model = mpc.compile("3d.keras", learning_rate=np.float32(0.25), batch=np.int64(8), **{**TRAINING, "metrics": []})
            os.chdir(before)
            self.assertEqual(model.learning_rate, 0.25)
            for name in ("checkpoint.weights.h5", "checkpoint.npz"):
                model.save(self.folder / name)
                model.load(self.folder / name)
        finally:
            os.chdir(before)

    def test_sample_weights_of_outputs_and_steps(self):
        folder = ROOT / "test" / "Models" / "layers"
        recorded = np.load(folder / "weights_of_outputs.npz")
        x, y = recorded["x"][:3], [recorded["y0"][:3], recorded["y1"][:3]]
        weights = {name: recorded[f"sample_weight_{name}"][:3] for name in ("label", "box")}
        model = mpc.compile(folder / "weights_of_outputs.keras")
        found = model.gradients(x, y, sample_weight=weights)
        self.assertAlmostEqual(found.loss, float(recorded["loss"][0]), places=5)
        self.assertEqual(found.loss, model.gradients(x, y, sample_weight=list(weights.values())).loss)
        named = model.evaluate(x, y, sample_weight=weights, return_dict=True)
        self.assertAlmostEqual(named["box_weighted_mae"], float(recorded["metric:box_weighted_mae"][0]), places=5)
        # One array for all outputs weighs rows, whatever the elements of their losses.
        common = np.array([0.5, 2.0, 1.0], np.float32)
        self.assertEqual(model.gradients(x, y, sample_weight=common).loss,
                         model.gradients(x, y, sample_weight={"label": common, "box": np.repeat(common[:, None], 4, 1)}).loss)
        with self.assertRaisesRegex(ValueError, r"sample_weight of 'box': has shape \(3, 5\); expected \(rows,\) or \('rows', 4\)"):
            model.gradients(x, y, sample_weight={"label": common, "box": np.ones((3, 5))})
        with self.assertRaisesRegex(ValueError, "sample_weight of 'label': has 2 rows"):
            model.gradients(x, y, sample_weight={"label": common[:2], "box": common})
        with self.assertRaisesRegex(ValueError, "sample_weight 'box' is missing"):
            model.gradients(x, y, sample_weight={"label": common})

    def test_state(self):
        model = mpc.compile(GUIDE, policy="mixed_float16", **TRAINING)
        x, y = digits(64)
        model.fit(x, y, verbose=0)
        for suffix in [".safetensors", ".keras", ".npz"]:
            path = self.folder / f"saved{suffix}"
            model.save(path)
            other = mpc.compile(GUIDE, policy="mixed_float16", **TRAINING)
            other.load(path)
            for one, two in zip(model.weights, other.weights):
                self.assertEqual(one.numpy().tobytes(), two.numpy().tobytes(), suffix)
        self.assertEqual(model.loss_scale, 32768)
        self.assertGreater(model.workspace_bytes(64), 0)
        with self.assertRaises(mpc.NotFoundError):
            model.load(self.folder / "absent.safetensors")
        (self.folder / "bad.safetensors").write_bytes(b"x" * 100)
        with self.assertRaises(mpc.DataLossError):
            model.load(self.folder / "bad.safetensors")


class Compiling(Case):
    def test_errors(self):
        with self.assertRaisesRegex(mpc.CompileError, "error: .*absent.keras"):
            mpc.compile("absent.keras")
        with self.assertRaises(mpc.CompileError) as caught:
            mpc.compile(GUIDE, policy="float13")
        self.assertIn("float13", str(caught.exception))
        with self.assertRaisesRegex(mpc.NotFoundError, "No such file"):
            mpc.load("absent.mpc")
        model = mpc.compile(GUIDE, mode="infer")
        with self.assertRaisesRegex(mpc.FailedPreconditionError, "has no 'train_step'"):
            model.fit(np.zeros((1, 784)), np.zeros(1))
        with self.assertRaisesRegex(mpc.UnavailableError, "mpc-nothing is not in"):
            mpc.tools.find("mpc-nothing")
        with self.assertRaises(mpc.Error):
            mpc.load(self.folder, device="cuda:99")

    def test_policy_map(self):
        model = mpc.compile(GUIDE, policy={"default_policy": "mixed_bfloat16", "policy_map": {"dense_1": "float32"}})
        layers = {layer["path"]: layer["compute"] for layer in model.manifest["layers"]}
        self.assertEqual(layers["dense_1"], "f32")
        self.assertIn("bf16", layers.values())

    def test_temporary_folders_go(self):
        model = mpc.compile(BLOBS)
        folder = os.path.dirname(model.path)
        self.assertTrue(os.path.isdir(folder))
        del model
        gc.collect()
        self.assertFalse(os.path.isdir(folder))


if __name__ == "__main__":
    unittest.main()
