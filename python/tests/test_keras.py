# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc.keras with Keras itself: same numbers, and trained weights that come back."""

import pathlib
import re
import subprocess
import sys
import unittest

import keras
import ml_dtypes  # noqa: F401
import numpy as np

import mpc
import mpc.keras
from test_pages import run_readme


def make(policy=None):
    keras.utils.set_random_seed(3)
    inputs = keras.Input((12,), name="x")
    hidden = keras.layers.Dense(32, activation="relu", dtype=policy)(inputs)
    hidden = keras.layers.BatchNormalization(dtype=policy)(hidden)
    model = keras.Model(inputs, keras.layers.Dense(3, activation="softmax", dtype="float32")(hidden), name="net-1")
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


class Keras(unittest.TestCase):
    def setUp(self):
        draw = np.random.default_rng(1)
        self.x = draw.normal(size=(96, 12)).astype(np.float32)
        self.y = (self.x[:, 0] > 0).astype(np.int32) + (self.x[:, 1] > 0)

    def test_same_predictions(self):
        model = make()
        compiled = mpc.keras.compile(model)
        np.testing.assert_allclose(compiled.predict(self.x), model.predict(self.x, verbose=0), rtol=1e-5, atol=1e-6)

    def test_trains_alike_and_writes_back(self):
        model = make()
        compiled = mpc.keras.compile(model)
        ours = compiled.fit(self.x, self.y, batch_size=32, epochs=3, shuffle=False, verbose=0)
        theirs = make().fit(self.x, self.y, batch_size=32, epochs=3, shuffle=False, verbose=0)
        self.assertEqual(list(ours.history), list(theirs.history))
        np.testing.assert_allclose(ours.history["loss"], theirs.history["loss"], rtol=1e-4)
        before = model.predict(self.x, verbose=0)
        self.assertIs(compiled.write_back(), model)
        after = model.predict(self.x, verbose=0)
        self.assertGreater(np.abs(after - before).max(), 1e-3)
        np.testing.assert_allclose(after, compiled.predict(self.x), rtol=1e-5, atol=1e-6)
        # Keras goes on where mpc stopped: with the optimizer's state, the next losses agree, too.
        more = compiled.fit(self.x, self.y, batch_size=32, epochs=1, shuffle=False, verbose=0).history["loss"]
        np.testing.assert_allclose(model.fit(self.x, self.y, batch_size=32, epochs=1, shuffle=False, verbose=0).history["loss"], more, rtol=1e-3)

    def test_writes_back_what_was_scaled(self):
        """Keras's optimizer has no state of a loss scale here, and shall have all of its own."""
        model = make()
        compiled = mpc.keras.compile(model, "mixed_float16")
        compiled.fit(self.x, self.y, batch_size=32, epochs=2, verbose=0)
        compiled.write_back()
        self.assertEqual(int(model.optimizer.iterations), 6)
        names = {variable.path.rsplit("/", 1)[-1]: variable for variable in compiled.variables if variable.role == "optimizer"}
        for variable in model.optimizer.variables[2:]:
            np.testing.assert_array_equal(np.asarray(variable), names[variable.path.rsplit("/", 1)[-1]].numpy())

    def test_nothing_holds_what_was_compiled(self):
        folder = mpc.keras.compile(make())._holder.name  # pylint: disable=protected-access
        self.assertFalse(pathlib.Path(folder).exists())

    def test_policies_and_objects_of_keras(self):
        model = make()
        compiled = mpc.keras.compile(model, keras.DTypePolicy("mixed_bfloat16"), optimizer=keras.optimizers.SGD(0.1, momentum=0.9),
                                     loss=keras.losses.SparseCategoricalCrossentropy(), metrics=["accuracy"])  # fmt: skip
        self.assertEqual(compiled.policy, "mixed_bfloat16")
        history = compiled.fit(self.x, self.y, epochs=5, verbose=0)
        self.assertLess(history.history["loss"][-1], history.history["loss"][0])

    def test_example(self):
        main = pathlib.Path(__file__).resolve().parent.parent.parent / "examples/python_keras/main.py"
        text = subprocess.run([sys.executable, str(main)], check=True, capture_output=True, text=True).stdout
        self.assertRegex(text, "compiled blobs with policy mixed_bfloat16")
        accuracies = [float(value) for value in re.findall(r"accuracy (0\.\d+)", text)]
        self.assertEqual(len(accuracies), 2, text)
        self.assertGreater(min(accuracies), 0.8)
        self.assertGreater(float(re.search(r"same class for ([\d.]+) %", text)[1]), 99)

    def test_readme(self):
        model = make()
        before = model.predict(self.x, verbose=0)
        self.assertEqual(run_readme("python/tests/test_keras.py", {"mpc": mpc, "keras": keras, "model": model, "x": self.x, "y": self.y}), 1)
        self.assertGreater(np.abs(model.predict(self.x, verbose=0) - before).max(), 1e-3)

    def test_callbacks_of_keras(self):
        compiled = mpc.keras.compile(make())
        seen = []
        stop = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(logs["loss"]))
        compiled.fit(self.x, self.y, epochs=2, verbose=0, callbacks=[stop])
        self.assertEqual(len(seen), 2)


if __name__ == "__main__":
    unittest.main()
