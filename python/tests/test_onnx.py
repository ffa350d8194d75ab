# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models by `mpc.compile`, with neither onnx nor onnxruntime. Needs protoc, which makes the file of a text."""

import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np

import mpc

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEXT = ROOT / "test" / "Driver" / "Inputs" / "perceptron.txtpb"
NONZERO = ROOT / "test" / "Driver" / "Inputs" / "nonzero.txtpb"
X = np.random.default_rng(1).normal(size=(64, 3)).astype(np.float32)
Y = np.stack([X.sum(1), X[:, 0] - X[:, 1]], 1)


def weights():
    for row in re.findall(r"initializer \{(.*)\}", TEXT.read_text(encoding="utf-8")):
        shape = [int(each) for each in re.findall(r"dims: (\d+)", row)]
        yield np.array(re.findall(r"float_data: (\S+)", row), np.float32).reshape(shape)


class Onnx(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.path, cls.nonzero = cls.folder / "perceptron.onnx", cls.folder / "nonzero.onnx"
        schema = ROOT / "lib" / "Import" / "ONNX" / "Reader" / "Onnx.proto"
        for source, path in ((TEXT, cls.path), (NONZERO, cls.nonzero)):
            with open(source, "rb") as text, open(path, "wb") as file:
                subprocess.run(["protoc", f"--proto_path={ROOT}", "--encode=mpc.onnx.file.ModelProto", str(schema)], stdin=text, stdout=file, check=True)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_predicts_as_the_file_says(self):
        model = mpc.compile(str(self.path))
        w1, b1, w2, b2 = weights()
        np.testing.assert_allclose(model(X), np.maximum(X @ w1 + b1, 0) @ w2 + b2, rtol=1e-5, atol=1e-6)

    def test_outputs_are_as_long_as_values_say(self):
        model = mpc.compile(self.nonzero)
        self.assertEqual(model.output_names, ["y", "z"])
        self.assertEqual([spec.shape for spec in model.outputs], [(2, None), (None, 2)])
        for x in (np.array([[0, 1, 2], [3, 0, 0]], np.float32), np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32)):
            expected = np.array(np.nonzero(x))
            for y, z in (model.predict(x), model(x), model.predict(x, dlpack=True)):
                np.testing.assert_array_equal(np.asarray(y) if isinstance(y, np.ndarray) else np.from_dlpack(y), expected)
                np.testing.assert_array_equal(np.asarray(z) if isinstance(z, np.ndarray) else np.from_dlpack(z), expected.T.astype(np.float32))

    def test_outputs_of_several_batches_are_not_joined(self):
        model = mpc.compile(self.nonzero)
        x = np.ones((2, 3), np.float32)
        for wrong in (lambda: model.predict(x, batch_size=1), lambda: model.predict(x, steps=1), lambda: model.predict(iter([x])),
                      lambda: model.predict(x, out=[x, x])):  # fmt: skip
            with self.assertRaisesRegex(mpc.InvalidArgumentError, "values say how large"):
                wrong()

    def test_policies_take_node_names(self):
        model = mpc.compile(self.path, {"default_policy": "float32", "policy_map": {"fc.": "mixed_bfloat16"}})
        exact = mpc.compile(self.path)
        error = np.abs(model(X) - exact(X)).max()
        self.assertGreater(error, 0)
        self.assertLess(error, 0.05)

    def test_trains_and_saves_as_onnx(self):
        model = mpc.compile(self.path, loss="mean_squared_error", optimizer="adam", learning_rate=0.02, options=["--frozen=fc1.*"])
        first = {variable.path: np.array(variable) for variable in model.weights}
        history = model.fit(X, Y, epochs=20, batch_size=16, verbose=0)
        self.assertLess(history.history["loss"][-1], 0.5 * history.history["loss"][0])
        for variable in model.weights:
            same = np.array_equal(np.array(variable), first[variable.path])
            self.assertEqual(same, variable.path.startswith("fc1"), variable.path)
        trained = self.folder / "trained.onnx"
        model.save(trained)
        np.testing.assert_array_equal(mpc.compile(trained)(X), model(X))
        with self.assertRaises(mpc.InvalidArgumentError):
            model.save_weights(trained)

    def test_weights_come_back(self):
        model = mpc.compile(self.path, loss="mean_squared_error", optimizer="sgd")
        before = model(X)
        model.save(self.folder / "weights.npz")
        model.fit(X, Y, epochs=1, verbose=0)
        self.assertFalse(np.array_equal(model(X), before))
        model.load(self.folder / "weights.npz")
        np.testing.assert_array_equal(model(X), before)

    def test_takes_several_shapes(self):
        path = self.folder / "lengths.onnx"
        schema = ROOT / "lib" / "Import" / "ONNX" / "Reader" / "Onnx.proto"
        with open(TEXT.parent / "lengths.txtpb", "rb") as text, open(path, "wb") as file:
            subprocess.run(["protoc", f"--proto_path={ROOT}", "--encode=mpc.onnx.file.ModelProto", str(schema)], stdin=text, stdout=file, check=True)
        model = mpc.compile(path, options=["--input-shape=x:2,3", "--input-shape=x:7,3"])
        u = np.ones((5, 4), np.float32)
        lengths = {steps: np.random.default_rng(steps).normal(size=(5, steps, 3)).astype(np.float32) for steps in (2, 7)}
        for x in lengths.values():
            alone = mpc.compile(path, options=[f"--input-shape=x:{x.shape[1]},3"])
            # Calls of the same rows: how many there are decides how sums are taken.
            for call in (lambda one: one([x, u]), lambda one: one.predict({"x": x, "u": u}, batch_size=2),
                         lambda one: one.predict(iter([{"x": x[:3], "u": u[:3]}, {"x": x[3:], "u": u[3:]}]))):  # fmt: skip
                for got, expected in zip(call(model), call(alone)):
                    np.testing.assert_array_equal(got, expected)
        self.assertEqual([variable.path for variable in model.weights], ["weight"])
        with self.assertRaisesRegex(mpc.InvalidArgumentError, r"\(4, 3\), \(4,\); the library was compiled for \(2, 3\), \(4,\) or \(7, 3\), \(4,\)"):
            model([np.ones((5, 4, 3), np.float32), u])
        with self.assertRaisesRegex(mpc.InvalidArgumentError, "batches of one shape"):
            model.predict(iter([{"x": x, "u": u} for x in lengths.values()]))

    def test_takes_and_gives_texts(self):
        path = self.folder / "words.onnx"
        schema = ROOT / "lib" / "Import" / "ONNX" / "Reader" / "Onnx.proto"
        with open(TEXT.parent / "words.txtpb", "rb") as text, open(path, "wb") as file:
            subprocess.run(["protoc", f"--proto_path={ROOT}", "--encode=mpc.onnx.file.ModelProto", str(schema)], stdin=text, stdout=file, check=True)
        model = mpc.compile(path, options=["--text-width=7"])
        words = np.array([["red", "grün"], ["gr", ""], ["grün", "Red"], ["a b", "ü"]])
        joined = np.char.add(words, ["!", ""])
        labels = [[3, 5], [-1, -1], [5, -1], [-1, -1]]
        for x in (words, words.astype(object), words.tolist(), words.astype("<U40")):
            for got in (model(x), model.predict(x, batch_size=3), model.predict(iter([np.asarray(x)]))):
                np.testing.assert_array_equal(got[0], joined)
                self.assertEqual(got[0].dtype.kind, "U")
                np.testing.assert_array_equal(got[1], labels)
        self.assertEqual(model.inputs[0], ("x", (None, 2), np.dtype("<U7")))
        self.assertEqual(model.outputs[0], ("joined", (None, 2), np.dtype("<U8")))
        for wrong, message in (
            ([["a", "b"], ["c", "twelve signs"]], r"the text \[1, 1\] has 12 characters; expected at most 7; .*--text-width=12"),
            (np.array([["a", "b\0c"]]), "U\\+0000 inside"),
            (np.array([["a", "b\0"]], object), "U\\+0000 inside"),
            (np.ones((3, 2), np.int32), "is an array of int32; expected texts"),
            (np.array([["a", 3]], object), "expected texts"),
            (np.array([["a"]]), r"rows of shape"),
        ):
            with self.assertRaisesRegex(mpc.InvalidArgumentError, message):
                model(wrong)

    def test_says_what_is_wrong(self):
        damaged = self.folder / "damaged.onnx"
        damaged.write_bytes(self.path.read_bytes()[:-20])
        with self.assertRaisesRegex(mpc.CompileError, "damaged.onnx"):
            mpc.compile(damaged)


if __name__ == "__main__":
    unittest.main()
