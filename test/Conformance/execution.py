# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one fixture case through the real tools and returns the arrays that they wrote."""

import hashlib
import json
import os
import shutil
import subprocess
import threading

import numpy

import loss_and_metric


class ToolError(Exception):
    """A tool failed; the message holds its command and the end of its output."""


# Code for one level of the ISA takes half the time: the machine's own; and that of custom training loops, which no
# case runs, a third of what is left. One model of this many is compiled as users get it, with all of it.
PORTABLE = 10


class Tools:
    def __init__(self, bin_folder, work_folder, threads=1, timeout=300, target="", device="", prebuilt=False):
        self.bin_folder = bin_folder
        self.work_folder = work_folder
        self.timeout = timeout
        self.prebuilt = prebuilt
        # Every compilation and every run gets these options besides. Beside code for a GPU the
        # CPU's is not what is tested.
        self.target = target
        self.extra = {"mpcc": [f"--target={target}", "--march=x86-64-v2", "-O0"] if target else [],
                      "mpc-run": ["--device", device] if device else []}  # fmt: skip
        self.lock = threading.Lock()
        self.compile_locks = {}
        self.compiled = set()
        # Two cases at a time with all cores each would only get in each other's way. No case depends on what another
        # one measured on a GPU.
        self.environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive")
        self.compiling = dict(self.environment)
        self.environment["MPC_CACHE"] = ""

    def run(self, tool, *arguments):
        command = [os.path.join(self.bin_folder, tool), *arguments, *self.extra.get(tool, [])]
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, errors="replace",
                timeout=self.timeout, env=self.compiling if tool == "mpcc" else self.environment,
            )  # fmt: skip
        except FileNotFoundError:
            raise ToolError(f"{command[0]}: not built") from None
        except subprocess.TimeoutExpired:
            raise ToolError(f"{' '.join(command)}: over {self.timeout} s") from None
        if result.returncode != 0:
            tail = (result.stdout + result.stderr).strip()[-1500:]
            raise ToolError(f"{' '.join(command)}: exit {result.returncode}\n{tail}")
        return result.stdout

    def compile(self, model, *options):
        """Compiles once per model and options; a later case of this run takes the result."""
        with open(model, "rb") as handle:
            digest = hashlib.sha256(handle.read())
        digest.update("\0".join(options).encode())
        folder = os.path.join(self.work_folder, "compiled", digest.hexdigest()[:24])
        if self.prebuilt:
            if not os.path.isdir(folder):
                raise ToolError(f"{model}: not among the compiled models in {self.work_folder}")
            return folder
        with self.lock:
            compile_lock = self.compile_locks.setdefault(folder, threading.Lock())
        with compile_lock:
            # Never what an earlier run left in the folder: another mpcc made that.
            if folder not in self.compiled:
                is_portable = self.target or int(digest.hexdigest()[:8], 16) % PORTABLE == 0
                level = [] if is_portable else ["--march=native", "--custom-loop=off"]
                self.run("mpcc", model, "--output-guard=off", "--name=model", *options, *level,
                         "-o", folder)  # fmt: skip
                self.compiled.add(folder)
        return folder


def load(path):
    with numpy.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def run_forward(case, tools, folder):
    compiled = tools.compile(case.path("model.keras"))
    output = os.path.join(folder, "out.npz")
    tools.run("mpc-run", "predict", compiled, "--inputs", case.path("data.npz"), "--outputs", output)
    return load(output), load(case.path("expected.npz"))


def run_gradient(case, tools, folder):
    compiled = tools.compile(case.path("model.keras"))
    output = os.path.join(folder, "gradients.npz")
    tools.run("mpc-run", "gradients", compiled, "--data", case.path("data.npz"),
              "--outputs", output)  # fmt: skip
    return load(output), load(case.path("expected.npz"))


def run_train(case, tools, folder):
    """20 steps of train_on_batch. A resume case starts from the file that Keras saved after
    save_at steps, with the rows rotated so that its first step sees the rows of step save_at."""
    description = case.description
    expected = load(case.path("expected.npz"))
    model, data, steps = "model.keras", case.path("data.npz"), description["steps"]
    done = description.get("save_at", 0)
    if done:
        model = "model_resume.keras"
        arrays = load(data)
        rotated = {
            name: numpy.roll(array, -done * description["batch"], axis=0)
            for name, array in arrays.items()
        }
        data = os.path.join(folder, "rotated.npz")
        numpy.savez(data, **rotated)
        for name, array in expected.items():
            if ":" not in name or name.startswith("metric:"):
                expected[name] = array[done:]
    trace = os.path.join(folder, "trace.npz")
    compiled = tools.compile(case.path(model), *loss_scale_option(description))
    tools.run("mpc-run", "train", compiled, "--data", data, "--shuffle=off",
              "--batch-size", str(description["batch"]), "--epochs", "1",
              "--steps", str(steps - done), "--trace", trace)  # fmt: skip
    return load(trace), expected


def unpack_int4(packed, columns):
    """Two's complement halves of bytes along the last axis, the low one first."""
    low, high = (packed << 4) >> 4, packed >> 4
    return numpy.stack([low, high], axis=-1).reshape(*packed.shape[:-1], -1)[..., :columns]


def run_quantized(case, tools, folder):
    """Inference, and every variable as the compiled model holds it; or training, with the float8
    state after each step, which is what trainings of one step, of two, ... end with."""
    description = case.description
    if description["steps"]:
        return run_float8_training(case, tools, folder)
    compiled = tools.compile(case.path("model.keras"))
    output, stored = os.path.join(folder, "out.npz"), os.path.join(folder, "variables.npz")
    tools.run("mpc-run", "predict", compiled, "--inputs", case.path("data.npz"), "--outputs", output)
    tools.run("mpc-convert", os.path.join(compiled, "model.safetensors"), "-o", stored)
    got, expected = load(output), load(case.path("expected.npz"))
    variables = load(stored)
    got.update({f"var:{name}": array for name, array in variables.items()})
    for name, array in expected.items():
        prefix, _, path = name.partition(":")
        if prefix == "unpacked" and path in variables:
            got[name] = unpack_int4(variables[path], array.shape[-1])
    return got, expected


def run_float8_training(case, tools, folder):
    got, expected = run_train(case, tools, folder)
    compiled = tools.compile(case.path("model.keras"), *loss_scale_option(case.description))
    traced = [name for name in expected if name.startswith("trace:")]
    states = {name: [] for name in traced}
    for steps in range(1, case.description["steps"] + 1):
        trace = os.path.join(folder, "steps.npz")
        tools.run("mpc-run", "train", compiled, "--data", case.path("data.npz"), "--shuffle=off",
                  "--batch-size", str(case.description["batch"]), "--epochs", "1",
                  "--steps", str(steps), "--trace", trace)  # fmt: skip
        final = load(trace)
        for name in traced:
            path = name[len("trace:"):]
            states[name].append(final["final:" + path])
    got.update({name: numpy.stack(values) for name, values in states.items()})
    return got, expected


def loss_scale_option(description):
    """Keras's compile() adds a LossScaleOptimizer under a global mixed_float16 policy; mpcc's
    --loss-scale=auto does the same, with the same numbers. Other numbers are passed on."""
    if description.get("loss_scaling") != "auto":
        return []
    config = description["optimizer"]["config"]
    initial, growth = config["initial_scale"], config["dynamic_growth_steps"]
    if (initial, growth) == (32768.0, 2000):
        return []
    return [f"--loss-scale=dynamic:{initial:g}:{growth}"]


EXECUTORS = {
    "forward": run_forward,
    "policy_map": run_forward,
    "quantized": run_quantized,
    "gradient": run_gradient,
    "train": run_train,
    "loss_scale": run_train,
    "losses": loss_and_metric.run_loss,
    "metrics": loss_and_metric.run_metric,
}


def execute(case, tools, keep):
    """Returns (arrays of mpc, arrays of Keras)."""
    folder = os.path.join(tools.work_folder, "cases", case.kind, case.name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        return EXECUTORS[case.kind](case, tools, folder)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def output_dtypes(compiled):
    """What the manifest says about the dtype of each output."""
    with open(os.path.join(compiled, "model.json")) as handle:
        return [output["dtype"] for output in json.load(handle)["outputs"]]
