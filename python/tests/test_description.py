# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What models say of themselves, calls on one batch, copies and pickles. Needs MPC_BIN and NumPy."""

import copy
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np

import mpc

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOBS = ROOT / "examples" / "c_predict" / "blobs.json"
TRAINING = {"loss": "sparse_categorical_crossentropy", "optimizer": "adam", "metrics": ["accuracy"], "initialize": 7}
SUMMARY = """\
Model: "blobs", policy mixed_bfloat16
┏━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━┳━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━━┓
┃ Layer (type)        ┃ Output Shape ┃ Param # ┃ Compute  ┃ Variables ┃
┡━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━━┩
│ dense_1 (Dense)     │ (None, 32)   │     160 │ bfloat16 │ float32   │
│ dense_2 (Dense)     │ (None, 32)   │   1,056 │ bfloat16 │ float32   │
│ predictions (Dense) │ (None, 3)    │      99 │ bfloat16 │ float32   │
└─────────────────────┴──────────────┴─────────┴──────────┴───────────┘
 Total params: 3,947 (15.42 KB)
 Trainable params: 1,315 (5.14 KB)
 Non-trainable params: 0 (0.00 B)
 Optimizer params: 2,632 (10.29 KB)"""


DOUBLES = """\
module @doubles attributes {mpc.phase = "import"} {
  func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
    %y = mpc.layer "double" kind "Add" inputs(%x) variables() {policy = "float32"} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
    ^bb0(%arg: tensor<?x4xf32>):
      %sum = mpc.add %arg, %arg : tensor<?x4xf32>, tensor<?x4xf32>
      mpc.yield %sum : tensor<?x4xf32>
    }
    return %y : tensor<?x4xf32>
  }
}
"""


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.model = mpc.compile(BLOBS, "mixed_bfloat16", output=cls.folder / "blobs.mpc", **TRAINING)
        draw = np.random.default_rng(1)
        cls.x = draw.normal(size=(48, 4)).astype(np.float32)
        cls.y = (np.argmax(cls.x[:, :3], axis=1)).astype(np.int32)

    @classmethod
    def tearDownClass(cls):
        del cls.model
        cls.temporary.cleanup()


class Description(Case):
    def test_summary(self):
        lines = []
        self.assertIsNone(self.model.summary(print_fn=lines.append))
        self.assertEqual(lines, [SUMMARY])
        self.model.summary(line_length=64, print_fn=lines.append)
        self.assertEqual({len(line) for line in lines[1].splitlines()[1:8]}, {64})
        self.assertIn("predictions…", lines[1])
        # Names are a model file's.
        self.model.layers[0].path, before = "\x1b[31m", self.model.layers[0].path
        try:
            self.model.summary(print_fn=lines.append)
        finally:
            self.model.layers[0].path = before
        self.assertIn("\\x1b[31m (Dense)", lines[2])

    def test_layers(self):
        model = self.model
        self.assertEqual([layer.name for layer in model.layers], ["dense_1", "dense_2", "predictions"])
        layer = model.get_layer("dense_2")
        self.assertEqual((layer.class_name, layer.dtype_policy, layer.compute_dtype, layer.variable_dtype), ("Dense", "mixed_bfloat16", "bfloat16", "float32"))
        self.assertEqual((layer.output_shape, layer.count_params(), layer.weights), ((None, 32), 1056, [model["dense_2/kernel"], model["dense_2/bias"]]))
        self.assertEqual([weight.shape for weight in layer.get_weights()], [(32, 32), (32,)])
        self.assertIs(model.get_layer(index=1), layer)
        self.assertEqual((layer.kernel, layer.bias, layer.trainable), (*layer.weights, True))
        self.assertEqual([hasattr(layer, name) for name in ("gamma", "__array__")], [False, False])
        self.assertEqual(copy.copy(layer).name, "dense_2")
        with self.assertRaisesRegex(mpc.NotFoundError, "no layer 'dense'; the model has: dense_1"):
            model.get_layer("dense")

    def test_layers_inside_each_other(self):
        inner = mpc.compile(ROOT / "test" / "Models" / "layers" / "nested_outputs_leaves.keras")
        self.assertEqual(sum(layer.count_params() for layer in inner.layers), inner.count_params())

    def test_what_goes_in_and_out(self):
        model = self.model
        self.assertEqual(model.inputs, [mpc.TensorSpec("x", (None, 4), np.dtype("float32"))])
        self.assertEqual((model.outputs[0].name, model.input_shape, model.output_shape), ("predictions", (None, 4), (None, 3)))
        self.assertEqual((model.metrics_names, model.count_params(), model.built), (["loss", "accuracy"], 1315, True))
        result = model.evaluate(self.x, self.y)
        self.assertEqual([metric.result() for metric in model.metrics], result)
        self.assertEqual([getattr(metric, "_direction", None) for metric in model.metrics], ["down", "up"])

    def test_variables(self):
        variable = mpc.load(self.folder / "blobs.mpc")["dense_1/bias"]
        before = variable.numpy()
        variable.assign_add(np.ones(32))
        variable.assign_sub(np.full(32, 0.5, np.float32))
        np.testing.assert_array_equal(variable, before + 0.5)
        self.assertEqual((variable.name, variable.trainable, np.asarray(variable, np.float64).dtype), ("bias", True, np.float64))
        with self.assertRaisesRegex(ValueError, "its memory is the model's"):
            np.array(variable, copy=False)


class Batches(Case):
    def test_on_batch(self):
        model, other = mpc.load(self.folder / "blobs.mpc"), mpc.load(self.folder / "blobs.mpc")
        found = [model.train_on_batch(self.x, self.y, return_dict=True) for _ in range(3)]
        history = other.fit(self.x, self.y, batch_size=48, epochs=3, shuffle=False, verbose=0).history
        self.assertEqual([each["loss"] for each in found], history["loss"])
        self.assertEqual(list(found[0]), ["accuracy", "loss"])
        self.assertEqual(model.test_on_batch(self.x, self.y), other.evaluate(self.x, self.y, batch_size=48))
        self.assertEqual(model.predict_on_batch(self.x).tobytes(), model.predict(self.x, batch_size=48).tobytes())
        self.assertEqual(model(self.x).tobytes(), model.predict_on_batch(self.x).tobytes())
        weights = np.where(self.y == 1, np.float32(3), np.float32(1))
        model, other = mpc.load(self.folder / "blobs.mpc"), mpc.load(self.folder / "blobs.mpc")
        self.assertEqual(model.train_on_batch(self.x, self.y, class_weight={1: 3.0}), other.train_on_batch(self.x, self.y, weights))
        with self.assertRaisesRegex(mpc.InvalidArgumentError, "both given"):
            model.train_on_batch(self.x, self.y, weights, {1: 3.0})
        with self.assertRaisesRegex(mpc.FailedPreconditionError, "training=True"):
            model(self.x, training=True)


class Texts(Case):
    def test_text_of_ir(self):
        model = mpc.compile(DOUBLES, output=self.folder / "text.mpc", name="text")
        self.assertEqual((model.name, model.policy), ("text", "float32"))
        self.assertTrue(np.array_equal(model.predict(self.x), self.x * 2))
        self.assertTrue(np.array_equal(mpc.compile(DOUBLES).predict(self.x), self.x * 2))
        with self.assertRaisesRegex(mpc.CompileError, "model.mlir:2"):
            mpc.compile("module {\n  nothing\n}")


class Copies(Case):
    def equal(self, one, two):
        for here, there in zip(one.variables, two.variables):
            self.assertEqual((here.path, here.numpy().tobytes()), (there.path, there.numpy().tobytes()))

    def test_copies(self):
        model = mpc.load(self.folder / "blobs.mpc", threads=1, seed=3)
        model.fit(self.x, self.y, epochs=2, verbose=0)
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.copy(model)):
            self.equal(model, other)
            self.assertEqual(other.predict(self.x).tobytes(), model.predict(self.x).tobytes())
            one = pickle.loads(pickle.dumps(model))
            self.assertEqual(one.fit(self.x, self.y, verbose=0).history, other.fit(self.x, self.y, verbose=0).history)
            self.equal(one, other)
            self.assertNotEqual(other.get_weights()[0].tobytes(), model.get_weights()[0].tobytes())

    def test_a_state_of_another_optimizer(self):
        """As in Keras: the weights are taken, the optimizer starts anew, and a warning says so."""
        state = self.folder / "adam.safetensors"
        adam = mpc.compile(BLOBS, **TRAINING)
        adam.fit(self.x, self.y, verbose=0)
        adam.save(state)
        sgd = mpc.compile(BLOBS, **{**TRAINING, "optimizer": "sgd"})
        with self.assertWarnsRegex(UserWarning, r"adam\.safetensors: the saved optimizer has \d+ variables, of which 'sgd' has 0 among its 2; the others keep"):
            sgd.load(state)
        for here, there in zip(sgd.get_weights(), adam.get_weights()):
            self.assertEqual(here.tobytes(), there.tobytes())
        self.assertEqual(int(sgd.optimizer.iterations), 0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mpc.compile(BLOBS, **TRAINING).load(state)  # the same optimizer
            mpc.load(self.folder / "blobs.mpc").load(state)

    def test_archives(self):
        """A model that is one file is loaded, trained, copied and pickled as the folder is."""
        file = self.folder / "blobs-1.mpc"
        one = mpc.compile(BLOBS, output=file, options=["--emit=archive"], **TRAINING)
        self.assertTrue(file.is_file())
        folder = mpc.compile(BLOBS, output=self.folder / "blobs-2.mpc", **TRAINING)
        self.equal(one, folder)
        self.assertEqual(one.fit(self.x, self.y, verbose=0, shuffle=False).history, folder.fit(self.x, self.y, verbose=0, shuffle=False).history)
        for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            self.equal(other, folder)
        self.assertEqual(mpc.load(file).predict(self.x).shape, (len(self.x), 3))

    def test_what_a_pickle_takes_along(self):
        """Another process needs nothing of what made it, and saves to Keras's files."""
        file = self.folder / "model.pickle"
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "blobs.json"
            source.write_bytes(BLOBS.read_bytes())
            model = mpc.compile(source, **TRAINING)
            expected = model.predict(self.x)
            file.write_bytes(pickle.dumps(model))
        program = ("import pickle, sys, numpy as np\n"
                   "model = pickle.load(open(sys.argv[1], 'rb'))\n"
                   "model.save(sys.argv[2])\n"
                   "sys.stdout.buffer.write(model.predict(np.load(sys.argv[3])).tobytes())\n")  # fmt: skip
        np.save(self.folder / "x.npy", self.x)
        kept = self.folder / "kept.keras"
        out = subprocess.run([sys.executable, "-c", program, file, kept, self.folder / "x.npy"], check=True, capture_output=True, timeout=60).stdout
        self.assertEqual(out, expected.tobytes())
        self.assertEqual(mpc.compile(kept).predict(self.x).tobytes(), expected.tobytes())


if __name__ == "__main__":
    unittest.main()
