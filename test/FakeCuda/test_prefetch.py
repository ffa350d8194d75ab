#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of the next call are copied while a call computes (mpc_rt_context_prefetch), on the software device, where
who does not wait for a copy sees old data."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from software_device import ROOT, lines_of, run

sys.path.insert(0, os.path.join(ROOT, "test", "CustomLoop"))
import named_tests  # noqa: E402  pylint: disable=wrong-import-position
from runtime import Failed, Runtime, pointers  # noqa: E402  pylint: disable=wrong-import-position
from test_tensors import DeviceContext  # noqa: E402  pylint: disable=wrong-import-position

BUILD = os.environ["MPC_BUILD"]
GUIDE = os.path.join(ROOT, "examples", "mnist_mlp", "model_256.keras")
ROWS, STEPS = 8, 7
INVALID_ARGUMENT, UNAVAILABLE = 1, 3
FILL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


class Suite:
    def __init__(self, folder):
        self.folder = os.path.join(folder, "net")
        subprocess.run([os.path.join(BUILD, "bin", "mpcc"), GUIDE, "-q", "--target=cuda:source", "--march=x86-64-v2", "-O0", "--name=net", "--policy=float32",
                        "--loss=sparse_categorical_crossentropy", "--optimizer=sgd", "-o", self.folder], check=True)  # fmt: skip
        self.runtime, self.contexts = Runtime(os.path.join(BUILD, "lib", "libmpcrt.so.1")), []
        random = np.random.default_rng(7)
        self.batches = [[random.uniform(size=(ROWS, 784)).astype(np.float32), random.integers(0, 10, size=ROWS).astype(np.int32),
                         np.ones(ROWS, np.float32)] for _ in range(STEPS)]  # fmt: skip
        self.data = os.path.join(folder, "data.npz")
        np.savez(self.data, x0=np.concatenate([batch[0] for batch in self.batches]), y0=np.concatenate([batch[1] for batch in self.batches]))

    def context(self, device=b"cuda:0"):
        context = DeviceContext(self.runtime, self.folder, device)
        self.runtime.call("mpc_rt_context_load_initial", context.handle, None)
        self.contexts.append(context)
        return context

    def close(self):
        """What stays open is a leak to the software device."""
        for context in self.contexts:
            context.close()

    def prefetch(self, context, name, arrays, batch=ROWS):
        """What the next call fetches; how often it asked is the length of the list."""
        asked = []

        def fill(_, inputs):
            asked.append(name)
            for i, array in enumerate(arrays):
                ctypes.memmove(inputs[i], array.ctypes.data, array.nbytes)

        context.keep = FILL(fill)
        self.runtime.call("mpc_rt_context_prefetch", context.handle, context.entry(name)[0], ctypes.c_int64(batch), context.keep, None)
        return asked

    def run_fetched(self, context, name, batch=ROWS):
        index, entry = context.entry(name)
        outputs = context.outputs(entry, batch)
        self.runtime.call("mpc_rt_context_run", context.handle, index, None, pointers(outputs), ctypes.c_int64(batch))
        return {entry.outputs[i].name.decode(): outputs[i] for i in range(entry.output_count)}

    def test_fetched_batches_train_as_others(self):
        plain, fetching = self.context(), self.context()
        wanted = [float(plain.run("train_step", batch, ROWS)["loss"]) for batch in self.batches]
        got = []
        for number, batch in enumerate(self.batches):
            asked = self.prefetch(fetching, "train_step", self.batches[number + 1]) if number + 1 < STEPS else ["train_step"]
            # Plain, recorded and replayed steps.
            outputs = fetching.run("train_step", batch, ROWS) if number == 0 else self.run_fetched(fetching, "train_step")
            got.append(float(outputs["loss"]))
            assert asked == ["train_step"], asked
        assert got == wanted and len(set(got)) == STEPS, (got, wanted)
        for name, values in plain.variables().items():
            assert np.array_equal(values, fetching.variables()[name], equal_nan=True), name

    def test_another_entry_may_run_between(self):
        context, other = self.context(), self.context()
        rows = self.batches[3][0]
        asked = self.prefetch(context, "train_step", self.batches[0])
        predicted = context.run("predict", [rows], ROWS)["out0"]
        assert asked == ["train_step"]
        assert np.array_equal(predicted, other.run("predict", [rows], ROWS)["out0"])
        assert np.array_equal(context.run("predict", [rows[:3]], 3)["out0"], predicted[:3])
        assert self.run_fetched(context, "train_step")["loss"] == other.run("train_step", self.batches[0], ROWS)["loss"]

    def test_what_nobody_takes_is_forgotten(self):
        context, other = self.context(), self.context()
        self.prefetch(context, "train_step", self.batches[1])
        # The inputs of the call count.
        assert context.run("train_step", self.batches[0], ROWS)["loss"] == other.run("train_step", self.batches[0], ROWS)["loss"]
        asked = self.prefetch(context, "train_step", self.batches[2])
        assert context.run("train_step", self.batches[3], ROWS)["loss"] == other.run("train_step", self.batches[3], ROWS)["loss"]
        assert asked == ["train_step"]
        assert self.run_fetched(context, "train_step")["loss"] == other.run("train_step", self.batches[2], ROWS)["loss"]

    def refused(self, status, word, call, *arguments):
        try:
            call(*arguments)
        except Failed as failure:
            assert failure.status == status and word in str(failure), (failure.status, str(failure))
            return
        raise AssertionError("was not refused")

    def test_only_what_was_fetched_can_be_left_out(self):
        context = self.context()
        self.refused(INVALID_ARGUMENT, "inputs or outputs is null", self.run_fetched, context, "train_step")
        self.prefetch(context, "train_step", self.batches[1])
        context.run("train_step", self.batches[0], ROWS)
        self.refused(INVALID_ARGUMENT, "inputs or outputs is null", self.run_fetched, context, "predict")
        self.refused(INVALID_ARGUMENT, "inputs or outputs is null", self.run_fetched, context, "train_step", ROWS - 1)
        self.run_fetched(context, "train_step")
        self.refused(INVALID_ARGUMENT, "inputs or outputs is null", self.run_fetched, context, "train_step")

    def test_wrong_requests_are_refused(self):
        context = self.context()
        self.refused(INVALID_ARGUMENT, "batch -1", self.prefetch, context, "train_step", [], -1)
        self.refused(INVALID_ARGUMENT, "overflow", self.prefetch, context, "train_step", [], 1 << 62)
        request = self.runtime.library.mpc_rt_context_prefetch
        assert request(context.handle, 99, ctypes.c_int64(1), FILL(lambda *_: None), None) == INVALID_ARGUMENT
        assert request(context.handle, 0, ctypes.c_int64(1), None, None) == INVALID_ARGUMENT
        assert request(None, 0, ctypes.c_int64(1), FILL(lambda *_: None), None) == INVALID_ARGUMENT
        self.refused(UNAVAILABLE, "memory of the host", self.prefetch, self.context(b"cpu"), "train_step", self.batches[0])

    def test_training_fetches_the_next_batch(self):
        log, weights = self.folder + ".log", []
        for shuffle in ("off", "on"):
            for device in ("cuda:0", "cpu"):
                path = f"{self.folder}-{shuffle}-{device[:3]}.safetensors"
                result = run("mpc-run", "train", self.folder, "--data", self.data, "--batch-size", str(ROWS), "--epochs", "2", f"--shuffle={shuffle}",
                             "--seed", "3", "--save", path, "--device", device, MPC_FAKE_CUDA_LOG=log)  # fmt: skip
                assert result.returncode == 0, result.stderr
                weights.append(path)
        # All batches but the first of each epoch.
        assert len([line for line in lines_of(log) if line.startswith("do copy on device")]) == 2 * 2 * (STEPS - 1)
        for gpu, cpu in (weights[:2], weights[2:]):
            result = run("mpc-convert", gpu, "-o", gpu + ".npz"), run("mpc-convert", cpu, "-o", cpu + ".npz")
            assert all(one.returncode == 0 for one in result), result[0].stderr
            with np.load(gpu + ".npz") as ours, np.load(cpu + ".npz") as others:
                for name in others:
                    if others[name].dtype == np.float32:
                        np.testing.assert_allclose(ours[name], others[name], rtol=1e-4, atol=1e-6, err_msg=name)

    def test_other_passes_fetch_the_next_batch(self):
        log, out, inputs = self.folder + ".passes", self.folder + "-out.npz", self.folder + "-x.npz"
        with np.load(self.data) as arrays:
            np.savez(inputs, x0=arrays["x0"][:-3])  # the last batch is smaller: its inputs are fetched, too
        results = {}
        for device in ("cuda:0", "cpu"):
            common = "--batch-size", str(ROWS), "--device", device
            got = run("mpc-run", "predict", self.folder, "--inputs", inputs, "--outputs", out, *common, MPC_FAKE_CUDA_LOG=log)
            assert got.returncode == 0, got.stderr
            with np.load(out) as arrays:
                predicted = arrays["out0"]
            fetched = len([line for line in lines_of(log) if line.startswith("do copy on device")])
            got = run("mpc-run", "evaluate", self.folder, "--data", self.data, "--json", *common, MPC_FAKE_CUDA_LOG=log + "2")
            assert got.returncode == 0, got.stderr
            results[device] = predicted, json.loads(got.stdout)["loss"]
            if device == "cuda:0":
                assert fetched == STEPS - 1, fetched
                fetched = len([line for line in lines_of(log + "2") if line.startswith("do copy on device")])
                assert fetched == STEPS - 1, fetched
        np.testing.assert_allclose(results["cuda:0"][0], results["cpu"][0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(results["cuda:0"][1], results["cpu"][1], rtol=1e-5)


def main():
    with tempfile.TemporaryDirectory(prefix="mpc-prefetch-") as folder:
        suite = Suite(folder)
        status = named_tests.run(named_tests.methods(suite))
        suite.close()
        return status


if __name__ == "__main__":
    sys.exit(main())
