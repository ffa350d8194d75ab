#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What depends on weights alone is computed when they change, on the software device: not by a recorded
call, and never with weights of before."""

import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from software_device import ROOT, lines_of, run

sys.path.insert(0, os.path.join(ROOT, "test", "CustomLoop"))
import named_tests  # noqa: E402  pylint: disable=wrong-import-position
from runtime import Runtime  # noqa: E402  pylint: disable=wrong-import-position
from test_tensors import DeviceContext  # noqa: E402  pylint: disable=wrong-import-position

BUILD = os.environ["MPC_BUILD"]
GUIDE = os.path.join(ROOT, "examples", "mnist_mlp", "model_256.keras")
ROWS = 8


def layer(class_name, **config):
    return {"module": "keras.layers", "class_name": class_name, "config": config, "registered_name": None}


def dense(units, **config):
    initializer = {"module": "keras.initializers", "class_name": "GlorotUniform", "config": {"seed": None}, "registered_name": None}
    return layer("Dense", name=f"dense_{units}", units=units, use_bias=True, activation="linear", kernel_initializer=initializer, **config)


def architecture(*layers):
    return {"module": "keras", "class_name": "Sequential", "registered_name": None,
            "config": {"name": "net", "layers": [layer("InputLayer", batch_shape=[None, 32], dtype="float32", name="x"), *layers],
                       "build_input_shape": [None, 32]}}  # fmt: skip


class Suite:
    def __init__(self, folder):
        self.folder = folder
        self.runtime = Runtime(os.path.join(BUILD, "lib", "libmpcrt.so.1"))
        self.random = np.random.default_rng(5)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compiled(self, name, model, *options):
        """`model`: a file, or what goes into one."""
        if not isinstance(model, str):
            content, model = model, self.path(name + ".json")
            with open(model, "w") as handle:
                json.dump(content, handle)
        target = self.path(name)
        result = run("mpcc", model, "-q", "--name=net", "--target=cuda:source", *options, "-o", target, fake=False)
        assert result.returncode == 0, result.stderr
        return target

    def trained(self, name, content):
        """A file of a model after a step from initial values."""
        folder, weights, model = self.compiled(name, content, "--loss=mean_squared_error", "--optimizer=sgd"), self.path("w.safetensors"), self.path(name + ".keras")
        for command in (["mpc-run", "train", folder, "--data", self.data(), "--initialize=1", "--batch-size", str(ROWS), "--steps", "1", "--save", weights],
                        ["mpc-convert", weights, "--model", self.path(name + ".json"), "-o", model]):  # fmt: skip
            result = run(*command, fake=False)
            assert result.returncode == 0, result.stderr
        return model

    def data(self):
        path = self.path("data.npz")
        rows, targets = (self.random.normal(size=(4 * ROWS, n)).astype(np.float32) for n in (32, 5))
        np.savez(path, x0=rows, y0=targets)
        return path

    def predictions(self, policy, nodes, **settings):
        """Of a prediction of the guide's model, recorded."""
        folder, log = self.compiled(policy.replace("/", "_"), GUIDE, f"--policy={policy}", "--mode=infer"), self.path("log")
        if os.path.exists(log):
            os.remove(log)
        result = run("mpc-run", "bench", folder, "--predict", "--device", "cuda:0", "--batch-size", str(ROWS), "--warmup", "2", "--steps", "3",
                     MPC_FAKE_CUDA_LOG=log, **settings)  # fmt: skip
        assert result.returncode == 0, result.stderr
        recorded = [line for line in lines_of(log) if line.startswith("record ")]
        assert len([line for line in recorded if "multiply" in line]) == 3, recorded
        assert len(recorded) == nodes, recorded
        # Weights are transposed, unpacked and padded in one launch of several stages, before the
        # first call.
        assert not [line for line in recorded if "group" in line], recorded
        assert len([line for line in lines_of(log) if "do launch mpc_group" in line]) == 1, lines_of(log)

    # When each call did it, there were 7, 7 and 9 nodes, two to four of which were stages that wait for the whole grid.
    def test_nodes_of_int8(self):
        self.predictions("int8_from_mixed_bfloat16", 7)

    def test_nodes_of_int4(self):
        self.predictions("int4_from_mixed_bfloat16", 7)

    def test_nodes_of_int4_in_blocks(self):
        for capability in ("80", "90"):
            self.predictions("int4/128_from_mixed_bfloat16", 7, MPC_FAKE_CUDA_CAPABILITY=capability)

    def contexts(self, folder):
        contexts = [DeviceContext(self.runtime, folder, device) for device in (b"cuda:0", b"cpu")]
        for context in contexts:
            self.runtime.call("mpc_rt_context_load_initial", context.handle, None)
        return contexts

    def check_predictions(self, contexts, rows):
        """Several calls, so that the second is recorded and the third replayed."""
        wanted = contexts[1].run("predict", [rows], len(rows))["out0"]
        for _ in range(3):
            got = contexts[0].run("predict", [rows], len(rows))["out0"]
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)
        return got

    def test_changed_weights_are_seen(self):
        rows = self.random.normal(size=(ROWS, 32)).astype(np.float32)
        model = self.trained("changed", architecture(dense(48), dense(5)))
        for policy in ("int8_from_float32", "int4_from_float32", "int4/16_from_float32"):
            folder = self.compiled("changed", model, f"--policy={policy}", "--mode=infer")
            contexts = self.contexts(folder)
            before = self.check_predictions(contexts, rows)
            for context in contexts:
                kernels = [values for name, values in context.variables().items() if name.endswith("/kernel") or name.endswith("_kernel")]
                assert len(kernels) == 2, list(context.variables())
                for kernel in kernels:  # of int4, both numbers
                    kernel[:] = np.roll(kernel, 1)
                self.runtime.call("mpc_rt_context_variables_changed", context.handle)
            after = self.check_predictions(contexts, rows)
            assert not np.allclose(before, after), policy
            for context in contexts:
                self.runtime.call("mpc_rt_context_load_initial", context.handle, None)
            assert self.check_predictions(contexts, rows).tobytes() == before.tobytes(), policy
            for context in contexts:
                context.close()

    def test_trained_weights_are_seen(self):
        # Padded kernels of predict follow the updates of train_step.
        folder = self.compiled("trained", architecture(dense(48), dense(5)), "--initialize", "--loss=mean_squared_error", "--optimizer=sgd")
        contexts = self.contexts(folder)
        rows, targets = (self.random.normal(size=(ROWS, n)).astype(np.float32) for n in (32, 5))
        before = self.check_predictions(contexts, rows)
        for _ in range(3):
            for context in contexts:
                context.run("train_step", [rows, targets, np.ones(ROWS, np.float32)], ROWS)
            after = self.check_predictions(contexts, rows)
            assert not np.allclose(before, after)
            before = after
        for context in contexts:
            context.close()

    def test_factors_of_frozen_kernels_are_trained(self):
        model = self.trained("lora", architecture(dense(48, lora_rank=4, lora_alpha=4), dense(5, lora_rank=2, lora_alpha=2)))
        rows, targets = (self.random.normal(size=(ROWS, n)).astype(np.float32) for n in (32, 5))
        for policy in ("int8_from_float32", "int4_from_float32"):
            folder = self.compiled("lora", model, f"--policy={policy}", "--loss=mean_squared_error", "--optimizer=sgd")
            contexts, before, after = self.contexts(folder), [], []
            for context in contexts:
                for name, values in sorted(context.variables().items()):
                    if "lora" in name:  # saving made them zero
                        values[:] = np.random.default_rng(len(name)).normal(size=values.shape)
                self.runtime.call("mpc_rt_context_variables_changed", context.handle)
                before.append({name: values.copy() for name, values in context.variables().items()})
                for _ in range(4):
                    context.run("train_step", [rows, targets, np.ones(ROWS, np.float32)], ROWS)
                after.append({name: values.copy() for name, values in context.variables().items()})
            self.check_predictions(contexts, rows)
            for name, values in after[1].items():
                if values.dtype == np.float32:
                    np.testing.assert_allclose(after[0][name], values, rtol=1e-4, atol=1e-5, err_msg=name)
                elif name.endswith("kernel"):
                    assert np.array_equal(after[0][name], before[0][name]), name
                if "lora" in name:
                    assert not np.array_equal(after[0][name], before[0][name]), name
            for context in contexts:
                context.close()

    def test_memory_that_stays_is_told(self):
        folder = self.compiled("told", GUIDE, "--policy=int4_from_float32", "--mode=infer")
        result = subprocess.run([os.path.join(BUILD, "bin", "mpcc"), GUIDE, "--policy=int4_from_float32", "--mode=infer", "--name=net",
                                 "--target=cuda:source", "--explain=passes", "-o", folder], capture_output=True, text=True, check=True)  # fmt: skip
        # Three kernels in float32.
        assert re.search(r"prepare-weights +@predict keeps 1075200 bytes", result.stdout), result.stdout


def main():
    with tempfile.TemporaryDirectory(prefix="mpc-prepared-") as folder:
        return named_tests.run(named_tests.methods(Suite(folder)))


if __name__ == "__main__":
    sys.exit(main())
