# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The code of python/README.md runs as it stands there. Needs MPC_BIN and NumPy."""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import numpy as np

import mpc

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test"))
import pages  # noqa: E402  pylint: disable=wrong-import-position


def run_readme(test, names):
    """Runs the blocks that say they are run by `test`, with and into `names`."""
    blocks = [block for block in pages.blocks("python/README.md") if block.markers.get("run by") == test]
    for block in blocks:
        exec(compile("\n" * block.line + block.text, "python/README.md", "exec"), names)  # pylint: disable=exec-used
    return len(blocks)


class Readme(unittest.TestCase):
    def test_runs(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                shutil.copy(ROOT / "examples" / "mnist_mlp" / "model_256.keras", "model.keras")
                mpc.compile("model.keras", output="model.mpc")
                draw = np.random.default_rng(0)
                x = draw.uniform(size=(640, 784)).astype(np.float32)
                names = {"x": x, "y": (x[:, 0] * 10).astype(np.int32)}
                self.assertEqual(run_readme("python/tests/test_pages.py", names), 2)
                self.assertEqual(names["probabilities"].shape, (640, 10))
                self.assertEqual(names["gradients"].shape, (784, 256))
                self.assertTrue(os.path.exists("trained.keras"))
            finally:
                os.chdir(before)


if __name__ == "__main__":
    unittest.main()
