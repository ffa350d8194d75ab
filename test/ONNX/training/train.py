# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the exported models of recorded.tar.xz by mpcc and mpc-run, beside what PyTorch and Keras recorded (README.md).

  train.py BIN [CASE...] [--every N] [--jobs N] [--keep FOLDER] [--verbose]
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile

import draws
import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

ARCHIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.tar.xz")
CASES = 59
# Rows of the predictions of a graph whose batch is open.
BATCHES = (1, 3, 32)
# Relative, of the loss of each step in float32.
LOSS = 1e-4
# Shares of a gradient's largest element; and of the largest of all, where one is a sum that cancels to nothing.
GRADIENT, CANCELLED = 1e-5, 1e-7
# A share of the magnitudes that a bias's gradient is a sum of: four roundings. In front of a batch normalisation the
# gradient is 0, and all that any float32 has is rounding.
SUMMED = 2**-22
# How far onnxruntime's predictions with trained weights may be, relative above 1.
PREDICTION = 1e-4
# In mixed_bfloat16: this many times what torch.autocast differs from PyTorch's own float32, and two roundings.
NOISE, ROUNDINGS = 4, 2**-8
LOSSES = {
    "classes": {"class_name": "SparseCategoricalCrossentropy", "config": {"from_logits": True}},
    "bits": {"class_name": "BinaryCrossentropy", "config": {"from_logits": True}},
    "numbers": {"class_name": "MeanSquaredError", "config": {}},
}
# Parameters that are no operand of a product, a convolution or a normalisation train where one says so.
CHOSEN = {
    "vision_transformer": "token|positions|(patches|block|norm|head)\\..*",
    "window_attention": "table|.*\\.(weight|bias)",
    "temporal_convolutions": "(convs|shortcut|head)\\..*",
    "selective_scan": "decay|skip|.*\\.(weight|bias)",
    "padded_encoder": ".*(weight|bias)",
    "spectrum": "scale|leave\\..*",
    "perceiver": "latents|temperature|.*\\.(weight|bias)",
}


class Fault(Exception):
    pass


def tool(binaries, name, *arguments):
    done = subprocess.run([os.path.join(binaries, name), *arguments], capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise Fault(f"{name} ended with {done.returncode}: {done.stderr.strip()[-1000:]}")
    return done.stdout


class Case:
    def __init__(self, name, folder, binaries):
        self.name, self.folder, self.binaries = name, folder, binaries
        with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
            self.recorded = json.load(file)
        self.place = self.recorded.get("place", 0)
        self.report = []

    def path(self, *names):
        return os.path.join(self.folder, self.name + "_".join(("", *names)))

    def write_json(self, what, content):
        path = self.path(what) + ".json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
        return path

    def prepare(self):
        """The model with the first values of its parameters, the data, the loss."""
        model = onnx.load(self.path() + ".onnx")
        # Keras's weights are in the file, under names that tf2onnx gives.
        for tensor in model.graph.initializer:
            if tensor.name in self.recorded.get("parameters", []):
                values = draws.parameter(self.name, tensor.name, list(tensor.dims))
                tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
        onnx.save(model, self.path("filled") + ".onnx")
        target = draws.target(self.name, **self.recorded["target"])
        arrays = draws.inputs(self.name, self.recorded["inputs"])
        np.savez(self.path("all") + ".npz", y0=target, **arrays)
        np.savez(self.path("first") + ".npz", y0=target[: draws.BATCH], **{name: array[: draws.BATCH] for name, array in arrays.items()})
        self.loss = self.write_json("loss", LOSSES[self.recorded["target"]["kind"]])

    def compile(self, optimizer, *options):
        library = self.path(optimizer, *(option.rsplit("=", 1)[-1] for option in options)) + ".mpc"
        chosen = [f"--trainable={CHOSEN[self.name]}"] if self.name in CHOSEN else []
        rule = self.write_json(optimizer, self.recorded["optimizers"][optimizer]["object"])
        tool(self.binaries, "mpcc", self.path("filled") + ".onnx", "-o", library, "--name=m", "--march=native", "-q", "--custom-loop=off",
             f"--loss={self.loss}", f"--optimizer={rule}", *chosen, *(["--batch=first"] if self.place else []), *options)  # fmt: skip
        return library

    def check_variables(self, library):
        with open(os.path.join(library, "m.json"), encoding="utf-8") as file:
            variables = json.load(file)["variables"]
        trained = {row["path"] for row in variables if row["role"] == "trainable"}
        if trained != set(self.recorded["parameters"]):
            raise Fault(f"trains {sorted(trained)}; expected {self.recorded['parameters']}")

    def train(self, library):
        trace = library + ".npz"
        tool(self.binaries, "mpc-run", "train", library, "--data", self.path("all") + ".npz", "--epochs", "5", "--batch-size", str(draws.BATCH),
             "--steps", "20", "--shuffle=off", "--trace", trace)  # fmt: skip
        with np.load(trace) as arrays:
            return arrays["loss"].astype(np.float64)

    def check_losses(self, what, losses, bound):
        expected = np.array(self.recorded["optimizers"][what.split()[0]]["losses"])
        if losses.shape != expected.shape:
            raise Fault(f"{what}: {losses.shape} losses; expected {expected.shape}")
        error = np.max(np.abs(losses - expected) / np.abs(expected))
        self.report.append(f"{what} {error:.1e}")
        if not error <= bound:
            step = int(np.argmax(np.abs(losses - expected) / np.abs(expected)))
            raise Fault(f"{what}: the losses differ by {error:.2e}, most in step {step}: {losses[step]} instead of {expected[step]}; expected {bound:.1e}")

    def check_gradients(self, library):
        got = library + ".gradients.npz"
        tool(self.binaries, "mpc-run", "gradients", library, "--data", self.path("first") + ".npz", "--outputs", got)
        first, worst = self.recorded["first"], 0.0
        largest = max(each["largest"] for each in first["gradients"].values())
        with np.load(got) as arrays:
            if abs(arrays["loss"] - first["loss"]) > 1e-5 * abs(first["loss"]):
                raise Fault(f"the first loss is {arrays['loss']}; expected {first['loss']}")
            for name, recorded in first["gradients"].items():
                flat = arrays["grad:" + name].reshape(-1).astype(np.float64)
                error = np.max(np.abs(flat[draws.sample(name, flat.size)] - recorded["elements"]))
                bound = GRADIENT * recorded["largest"] + CANCELLED * largest + SUMMED * recorded.get("magnitude", 0.0)
                worst = max(worst, error / bound * GRADIENT)
                if not error <= bound:
                    raise Fault(f"the gradient of {name} differs by {error:.2e}; its largest element is {recorded['largest']:.2e}")
        self.report.append(f"gradients {worst:.1e}")

    def check_file(self, library):
        """The trained weights in an ONNX file, as onnxruntime reads it."""
        trained, file, inputs, outputs = (library + suffix for suffix in (".safetensors", ".onnx", ".in.npz", ".out.npz"))
        tool(self.binaries, "mpc-run", "train", library, "--data", self.path("all") + ".npz", "--epochs", "2", "--batch-size", str(draws.BATCH), "--save", trained)
        tool(self.binaries, "mpc-convert", trained, "--model", self.path("filled") + ".onnx", "-o", file)
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        for batch in BATCHES if self.place else (draws.BATCH,):
            with np.load(self.path("all") + ".npz") as arrays:
                given = {name: arrays[name][:batch] for name in self.recorded["inputs"]}
            np.savez(inputs, **given)
            tool(self.binaries, "mpc-run", "predict", library, "--weights", trained, "--inputs", inputs, "--outputs", outputs, "--batch-size", str(batch))
            expected = session.run(None, {name: np.ascontiguousarray(np.moveaxis(array, 0, self.place)) for name, array in given.items()})[0]
            expected = np.moveaxis(expected, self.place, 0)
            with np.load(outputs) as arrays:
                error = np.max(np.abs(arrays["out0"] - expected) / np.maximum(1, np.abs(expected)))
            self.report.append(f"file {error:.1e}")
            if not error <= PREDICTION:
                raise Fault(f"onnxruntime predicts by {error:.2e} otherwise with the trained file; expected {PREDICTION}")

    def noise(self, optimizer):
        """How much bfloat16 may differ: PyTorch's own says it."""
        recorded = self.recorded["optimizers"][optimizer]
        wide, narrow = np.array(recorded["losses"]), np.array(recorded["bfloat16"])
        return NOISE * np.max(np.abs(narrow - wide) / np.abs(wide)) + ROUNDINGS

    def run(self):
        self.prepare()
        for optimizer in self.recorded["optimizers"]:
            library = self.compile(optimizer)
            if optimizer == "sgd" and "first" in self.recorded:
                self.check_variables(library)
                self.check_gradients(library)
                self.check_file(library)
            self.check_losses(optimizer, self.train(library), LOSS)
            if "bfloat16" in self.recorded["optimizers"][optimizer]:
                narrow = self.train(self.compile(optimizer, "--policy=mixed_bfloat16"))
                self.check_losses(f"{optimizer} in mixed_bfloat16", narrow, self.noise(optimizer))


def attempt(name, folder, binaries):
    case = Case(name, folder, binaries)
    try:
        case.run()
        return f"pass: {name}: {', '.join(case.report)}", True
    except (Fault, subprocess.TimeoutExpired) as fault:
        return f"wrong: {name}: {fault} ({', '.join(case.report)})", False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mpc-onnx-training-") as scratch:
        folder = arguments.keep or scratch
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(folder)
        names = sorted(re.sub(r"\.onnx$", "", name) for name in os.listdir(folder) if re.fullmatch(r"[a-z_]+\.onnx", name) and not name.endswith("_filled.onnx"))
        if len(names) != CASES:
            raise SystemExit(f"error: the archive has {len(names)} cases; expected {CASES}")
        names = arguments.cases or names[:: arguments.every]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            outcomes = list(pool.map(lambda name: attempt(name, folder, arguments.binaries), names))
    for text, good in outcomes:
        if arguments.verbose or not good:
            print(text)
    print(f"ran {len(outcomes)} tests")
    return not all(good for _, good in outcomes)


if __name__ == "__main__":
    sys.exit(main())
