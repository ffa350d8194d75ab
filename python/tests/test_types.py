# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The type hints of the package, as mypy reads them where it is installed. MPC_MYPY names mypy, which stands in another
environment; python/tests/run makes that."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

import mpc

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

PROGRAM = """
    from typing import Any, Optional, assert_type

    import numpy as np

    import mpc
    from mpc.callbacks import EarlyStopping, LambdaCallback

    class Loud(mpc.Callback):
        def on_epoch_end(self, epoch: int, logs: Optional[dict[str, Any]] = None) -> None:
            print(epoch, logs)

    def train(path: str, x: np.ndarray, y: np.ndarray) -> mpc.Model:
        model = mpc.compile(path, policy="mixed_bfloat16", options=["--march=native"])
        assert_type(model, mpc.Model)
        history = model.fit(x, y, batch_size=128, epochs=5, validation_split=0.2, callbacks=[EarlyStopping(patience=2), Loud()])
        assert_type(history, mpc.History)
        assert_type(history.history, dict[str, list[Any]])
        model.evaluate(x, y, callbacks=LambdaCallback(on_test_begin=print), return_dict=True)
        gradients = model.gradients(x, y)
        assert_type(gradients, mpc.Gradients)
        assert_type(gradients.loss, float)
        assert_type(gradients.variables, dict[str, np.ndarray])
        assert_type(model["dense/kernel"], mpc.Variable)
        assert_type(model["dense/kernel"].numpy(), np.ndarray)
        assert_type(model.layers, list[mpc.Layer])
        assert_type(model.inputs, list[mpc.TensorSpec])
        assert_type(model.count_params(), int)
        if model.optimizer is not None:
            assert_type(model.optimizer, mpc.Optimizer)
            model.optimizer.learning_rate = 1e-3
        model.save("trained.safetensors")
        try:
            return mpc.load("model.mpc", threads=2)
        except mpc.NotFoundError as problem:
            raise SystemExit(str(problem)) from None
"""

# Each line with a comment is a mistake of that kind.
MISTAKES = """
    import mpc

    model = mpc.load("model.mpc", thread=2)  # call-arg
    model.fit([1.0], epochs="3")  # arg-type
    model.predict([1.0], batch_size=1.5)  # arg-type
    model.sumary()  # attr-defined
    mpc.compile("model.keras", batch=[8])  # arg-type
    mpc.callbacks.EarlyStopping(patience="2")  # arg-type
    names: list[int] = model.metrics_names  # assignment
"""


class Types(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Each test reads the hints of Python and of NumPy, which take most of the time, and mypy keeps what it read.
        cls.temporary = tempfile.TemporaryDirectory()
        cls.cache = cls.temporary.name

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def mypy(self, *arguments):
        """What it prints of a file or package, as strict as pyproject.toml says."""
        result = subprocess.run([os.environ["MPC_MYPY"], "--python-executable", sys.executable, "--cache-dir", self.cache, "--config-file",
                                 ROOT / "pyproject.toml", *arguments], cwd=self.cache, capture_output=True, text=True)  # fmt: skip
        return result.stdout + result.stderr

    def check(self, program):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "program.py")
            path.write_text(textwrap.dedent(program))
            return self.mypy(path)

    def test_package(self):
        self.assertTrue(pathlib.Path(mpc.__file__).with_name("py.typed").exists())
        self.assertRegex(self.mypy("-p", "mpc"), r"^Success: no issues found in \d+ source files\n$")

    def test_program(self):
        self.assertEqual(self.check(PROGRAM), "Success: no issues found in 1 source file\n")

    def test_mistakes(self):
        found = re.findall(r"program\.py:(\d+): error: .*\[([a-z-]+)\]$", self.check(MISTAKES), re.M)
        lines = textwrap.dedent(MISTAKES).splitlines()
        expected = [(str(number), line.rpartition("# ")[2]) for number, line in enumerate(lines, 1) if "# " in line]
        self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
