# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc.distribution: ranks that train one model, in this process alone and by mpirun where there is one."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import mpc

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOBS = ROOT / "examples" / "c_predict" / "blobs.json"
TRAIN = ROOT / "examples" / "distributed" / "train.py"


def compiled(*options):
    return mpc.compile(str(BLOBS), loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"], initialize=1, options=[*options])


def rows(count):
    draw = np.random.default_rng(3)
    return draw.normal(size=(count, 4)).astype(np.float32), draw.integers(0, 3, count).astype(np.int32)


def wide(*options):
    """A model with variables large enough to be in parts."""
    layers = [("InputLayer", {"batch_shape": [None, 4], "dtype": "float32", "name": "x"}), ("Dense", {"name": "d0", "units": 600, "activation": "relu"}),
              ("Dense", {"name": "out", "units": 3, "activation": "softmax"})]  # fmt: skip
    config = {"class_name": "Sequential", "config": {"name": "wide", "layers": [{"class_name": kind, "config": config} for kind, config in layers]}}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "wide.json")
        path.write_text(json.dumps(config))
        return mpc.compile(str(path), loss="sparse_categorical_crossentropy", optimizer="adam", policy="mixed_bfloat16", initialize=1,
                           options=["--distributed", *options])  # fmt: skip


def weights(model):
    return b"".join(variable.numpy().tobytes() for variable in model.variables)


def mpirun(ranks, *command):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    options = ["--oversubscribe"] if "Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout else []
    return subprocess.run(["mpirun", "-np", str(ranks), *options, sys.executable, *map(str, command)], env=environment, capture_output=True, text=True)


class Alone(unittest.TestCase):
    def test_one_rank_without_a_launcher(self):
        ranks = mpc.distribution.DataParallel()
        self.assertEqual((ranks.rank, ranks.size, ranks.is_first), (0, 1, True))
        self.assertEqual(repr(ranks), "<mpc.distribution.DataParallel rank 0 of 1, self>")
        self.assertEqual(ranks.rows(10), slice(0, 10))
        ranks.barrier()

    def test_parts_repeat_and_are_close_to_the_whole(self):
        x, y = rows(103)  # the last batch has 3 rows, fewer than parts
        found = []
        for parts in (0, 4, 4):
            model = compiled("--distributed")
            if parts:
                model.distribute(mpc.distribution.DataParallel(deterministic_ranks=parts))
            model.fit(x, y, batch_size=20, epochs=3, shuffle=False, verbose=0)
            found.append((weights(model), [variable.numpy() for variable in model.trainable_variables], model.evaluate(x, y)))
        self.assertEqual(found[1][0], found[2][0])
        for whole, parts in zip(found[0][1], found[1][1]):
            np.testing.assert_allclose(parts, whole, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(found[1][2], found[0][2], rtol=1e-4)

    def test_it_ends(self):
        x, y = rows(40)
        model = compiled("--distributed")
        model.distribute(mpc.distribution.DataParallel(deterministic_ranks=4))
        model.distribute(None)
        alone = compiled("--distributed")
        for each in (model, alone):
            each.fit(x, y, verbose=0, shuffle=False)
        self.assertEqual(weights(model), weights(alone))

    def test_refuses(self):
        with self.assertRaisesRegex(mpc.FailedPreconditionError, "compile it with --distributed"):
            compiled().distribute(mpc.distribution.DataParallel(deterministic_ranks=2))
        with self.assertRaisesRegex(mpc.InvalidArgumentError, "expected a power of two"):
            compiled("--distributed").distribute(mpc.distribution.DataParallel(deterministic_ranks=3))
        with self.assertRaisesRegex(mpc.InvalidArgumentError, "communicator is a int; expected one of mpi4py"):
            mpc.distribution.DataParallel(7)


@unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
class Job(unittest.TestCase):
    def test_ranks_leave_the_same_bytes(self):
        sums = []
        for ranks in (1, 2, 4):
            result = mpirun(ranks, TRAIN)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout.count("ranks: loss"), 1, result.stdout)
            sums.append(re.findall(r"sum of the weights: (\S+)", result.stdout))
        self.assertEqual(sums[0], sums[1])
        self.assertEqual(sums[0], sums[2])

    def test_files_are_written_once(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "job.py")
            script.write_text(
                "import sys, numpy as np, mpc\n"
                f"sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
                "from test_distribution import compiled, rows\n"
                "model, ranks = compiled('--distributed'), mpc.distribution.DataParallel()\n"
                "model.distribute(ranks)\n"
                "history = model.fit(*rows(64), epochs=2, verbose=2, callbacks=[mpc.callbacks.CSVLogger(sys.argv[1])])\n"
                "assert len(history.history['loss']) == 2\n"
            )
            log = pathlib.Path(folder, "log.csv")
            result = mpirun(2, script, log)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(len(log.read_text().splitlines()), 3)
            self.assertEqual(result.stdout.count("Epoch 2/2"), 1, result.stdout)

    def test_parts_of_variables_are_gathered(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "job.py")
            script.write_text(
                "import sys, numpy as np, mpc\n"
                f"sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
                "from test_distribution import rows, wide\n"
                "ranks = mpc.distribution.DataParallel()\n"
                "class Reads(mpc.Callback):\n"
                "    def on_epoch_end(self, epoch, logs=None):\n"
                "        self.seen = self.model.get_weights()\n"
                "results = []\n"
                "for options in ([], ['--shard=optimizer']):\n"
                "    model = wide(*options)\n"
                "    model.distribute(ranks)\n"
                "    reads = Reads()\n"
                "    model.fit(*rows(64), epochs=2, verbose=0, callbacks=[reads])\n"
                "    model.train_on_batch(*rows(16))\n"
                "    if options and ranks.size > 1:\n"
                "        try:\n"
                "            model.get_weights()\n"
                "            sys.exit('a part was read as a whole')\n"
                "        except mpc.FailedPreconditionError as error:\n"
                "            assert 'gather' in str(error), error\n"
                "    model.gather_variables(keep=ranks.is_first)\n"
                "    if ranks.is_first:\n"
                "        model.save_weights(sys.argv[1])\n"
                "    model.gather_variables()\n"
                "    results.append([array.tobytes() for array in [*reads.seen, *model.get_weights(), *(v.numpy() for v in model.optimizer.variables)]])\n"
                "assert results[0] == results[1]\n"
                "print('gathered')\n"
            )
            saved = pathlib.Path(folder, "saved.safetensors")
            result = mpirun(2, script, saved)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout.count("gathered"), 2, result.stdout)
            self.assertTrue(saved.exists())


if __name__ == "__main__":
    unittest.main()
