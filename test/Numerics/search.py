#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`mpcc --policy=auto`: what is written, that it holds the tolerances, and against all maps of small models."""

import argparse
import itertools
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

import numpy  # noqa: E402

import models  # noqa: E402
import named_tests  # noqa: E402
from tools import Tools  # noqa: E402

COMMON = ("--march=native", "-O0", "--custom-loop=off", "-q")
TRAINED = ("--loss=sparse_categorical_crossentropy", "--optimizer=adam", "--metrics=accuracy")


class Search:
    def __init__(self, tools):
        self.tools = tools
        self.write("dense", [models.layer("Dense", f"dense_{i}", units=64, activation="relu") for i in range(3)])
        self.write("large", [models.layer("Dense", "small", units=64, activation="relu"),
                             models.layer("Dense", "less", units=8, activation="relu"),
                             models.rescaling("huge", 1e6), models.rescaling("back", 1e-6),
                             models.layer("Dense", "behind", units=64, activation="relu")])  # fmt: skip

    def write(self, name, layers):
        """A trained model of inputs [12], and the data that it learned."""
        architecture, keras = self.tools.path(name + ".json"), self.tools.path(name + ".keras")
        models.write(architecture, models.sequential(name, (12,), [*layers, models.head()]))
        x, y = models.data_of("dense", 256, seed=3)
        numpy.savez(self.tools.path(name + ".npz"), x=x, y0=y)
        folder, weights = self.tools.path(name + "-trained.mpc"), self.tools.path(name + ".safetensors")
        self.tools.call("mpcc", architecture, "-o", folder, "--name=m", *COMMON, *TRAINED)
        self.tools.call("mpc-run", "train", folder, "--data", self.tools.path(name + ".npz"), "--steps", 40, "--save", weights)
        self.tools.call("mpc-convert", weights, "--model", architecture, "-o", keras)

    def auto(self, name, mode, *options, out="auto"):
        """The map's layers and the report of a search."""
        folder = self.tools.path(f"{name}-{out}.mpc")
        self.tools.call("mpcc", self.tools.path(name + ".keras"), f"--policy=auto:{mode}", "-o", folder, "--name=m",
                        "--calibrate", self.tools.path(name + ".npz"), *COMMON, *options)  # fmt: skip
        with open(os.path.join(folder, "m.policy.json")) as handle:
            written = json.load(handle)
        with open(os.path.join(folder, "m.search.json")) as handle:
            report = json.load(handle)
        with open(os.path.join(folder, "m.json")) as handle:
            manifest = json.load(handle)
        assert written["class_name"] == "DTypePolicyMap", written
        configs = {path: policy["config"] for path, policy in written["config"]["policy_map"].items()}
        policies = {path: config.get("name") or f"{config['mode']}_from_{config['source_name']}" for path, config in configs.items()}
        paths = {re.sub(r"\\(.)", r"\1", key): policy for key, policy in policies.items()}
        assert paths == {row["path"]: row["policy"] for row in report["layers"]}
        return policies, report, manifest, folder

    def test_trained(self):
        """The library has the map's policies, and the reasons are told."""
        policies, report, manifest, folder = self.auto(
            "dense", "memory,mixed_bfloat16", "--metric=accuracy:0.05", "--metric=loss:0.05", "--batch=256", *TRAINED
        )  # fmt: skip
        assert "mixed_bfloat16" in policies.values(), policies
        compute = {row["path"]: row["compute"] for row in manifest["layers"]}
        for path, policy in policies.items():
            assert compute[path] == {"float32": "f32", "mixed_bfloat16": "bf16"}[policy], (path, policy, compute)
        assert all(row["reason"] for row in report["layers"])
        assert [row["metric"] for row in report["tolerances"]] == ["accuracy", "loss"]
        assert any(trial["holds"] for trial in report["trials"]), report["trials"]
        with open(os.path.join(folder, "m.search.html")) as handle:
            page = handle.read()
        assert "dense_0" in page and "<script" not in page and "mixed_bfloat16" in page

    def test_repeats(self):
        options = ("--mode=infer", "--metric=output:0.004")
        first = self.auto("dense", "memory,mixed_bfloat16", *options, out="first")
        second = self.auto("dense", "memory,mixed_bfloat16", *options, out="second")
        for name in ("m.policy.json", "m.search.json", "m.search.html", "libm.so"):
            contents = []
            for folder in (first[3], second[3]):
                with open(os.path.join(folder, name), "rb") as handle:
                    contents.append(handle.read())
            assert contents[0] == contents[1], name

    def outputs_under(self, name, narrow):
        """The outputs of the model with these layers in bfloat16."""
        policy = self.tools.path("one.json")
        with open(policy, "w") as handle:
            json.dump({"default_policy": "float32", "policy_map": {path: "mixed_bfloat16" for path in narrow}}, handle)
        folder, out = self.tools.path("one.mpc"), self.tools.path("one.npz")
        self.tools.call("mpcc", self.tools.path(name + ".keras"), "--policy", policy, "-o", folder, "--name=m",
                        "--mode=infer", *COMMON)  # fmt: skip
        self.tools.call("mpc-run", "predict", folder, "--inputs", self.tools.path(name + ".npz"), "--outputs", out)
        with numpy.load(out) as arrays:
            return arrays["out0"].astype("float64")

    @staticmethod
    def memory(narrow):
        """Bytes of `dense` as the cost model counts them: 32 samples, layers of 12 to 64, 64, 64 and 4 numbers."""
        units, bytes_ = [12, 64, 64, 64, 4], 0
        sizes = [2 if path in narrow else 4 for path in ("dense_0", "dense_1", "dense_2", "head")]
        for i, size in enumerate(sizes):
            bytes_ += 32 * units[i + 1] * size + 4 * (units[i] + 1) * units[i + 1]
            if i and sizes[i - 1] != size:
                bytes_ += 32 * units[i] * size
        return bytes_

    def test_all_maps(self):
        """The map is the best of all 16 that hold."""
        layers = [f"dense_{i}" for i in range(3)] + ["head"]
        wide = self.outputs_under("dense", [])
        errors = {(): 0}
        for count in range(1, len(layers) + 1):
            for narrow in itertools.combinations(layers, count):
                difference = self.outputs_under("dense", narrow) - wide
                errors[narrow] = float(numpy.sqrt((difference**2).sum() / (wide**2).sum()))
        gaining = sorted(errors[narrow] for narrow in errors if self.memory(narrow) < self.memory(()))
        for tolerance in (gaining[0], gaining[len(gaining) // 2], gaining[-1]):
            tolerance = float(f"{tolerance * 1.0001:.6g}")
            policies, report, _, _ = self.auto(
                "dense", "memory,mixed_bfloat16", "--mode=infer", f"--metric=output:{tolerance}", out="all"
            )
            narrow = tuple(path for path in layers if policies[path] != "float32")
            assert errors[narrow] <= tolerance, (narrow, errors[narrow], tolerance)
            best = min(self.memory(other) for other, error in errors.items() if error <= tolerance)
            assert self.memory(narrow) == best, (tolerance, narrow, self.memory(narrow), best)
            assert abs(report["cost"] - best / self.memory(())) < 1e-9, (report["cost"], best)

    def test_float16_overflow(self):
        """The layer whose values float16 does not hold stays float32, the others do not."""
        policies, report, _, _ = self.auto(
            "large", "memory,mixed_float16", "--mode=infer", "--metric=output:0.02", "--output-guard=on"
        )
        assert policies["huge"] == "float32" and policies["back"] == "float32", policies
        assert policies["small"] == policies["less"] == policies["behind"] == "mixed_float16", policies
        reasons = {row["path"]: row["reason"] for row in report["layers"]}
        assert "outputs off by" in reasons["huge"] or "save no memory" in reasons["huge"], reasons

    def test_proved(self):
        policies, report, _, _ = self.auto(
            "large", "memory,proved,mixed_float16", "--mode=infer", "--metric=output:0.02", out="proved"
        )
        reasons = {row["path"]: row["reason"] for row in report["layers"]}
        assert policies["huge"] == "float32", policies
        assert reasons["huge"] == "its values cannot be shown to fit float16", reasons
        assert policies["small"] == "mixed_float16", (policies, reasons)

    def test_measured(self):
        """Times of steps decide, and are told."""
        policies, report, _, folder = self.auto("dense", "measured,mixed_bfloat16", "--mode=infer", "--batch=256",
                                                "--metric=output:0.1", out="measured")  # fmt: skip
        times = report["step_ms"]
        assert 0 < times["chosen"] <= times["float32"], times
        assert len(report["trials"]) >= 3 and all(trial["step_ms"] > 0 for trial in report["trials"]), report["trials"]
        fastest = min([times["float32"] * 0.99, *(trial["step_ms"] for trial in report["trials"] if trial["holds"])])
        assert times["chosen"] <= fastest / 0.99, (times, fastest)
        assert any(row["reason"].startswith("measured: in ") for row in report["layers"]), report["layers"]
        with open(os.path.join(folder, "m.search.html")) as handle:
            assert "Measured on this machine" in handle.read()

    def test_speed_on_gpus(self):
        """Products of both 16-bit types are faster there; the CPU judges, and the kernels are for GPUs."""
        policies, report, _, folder = self.auto("dense", "speed", "--target=cuda:source", "--mode=infer", "--batch=256",
                                                "--metric=output:0.1", out="cuda")  # fmt: skip
        assert report["target"] == "cuda from sm_80" and report["objective"] == "speed", report
        assert set(policies.values()) == {"mixed_bfloat16"} and report["cost"] < 0.7, report
        with open(os.path.join(folder, "m.json")) as handle:
            assert any("compute" in target or "sm_" in target or "cuda" in target for target in json.load(handle)["targets"])

    def test_integers(self):
        policies, _, _, _ = self.auto(
            "dense", "memory,int8_from_float32", "--mode=infer", "--metric=output:0.1", out="integers"
        )
        assert set(policies.values()) <= {"float32", "int8_from_float32"}, policies
        assert "int8_from_float32" in policies.values(), policies

    def test_names_that_are_patterns(self):
        """Layers named as regular expressions keep policies of their own."""
        self.write("names", [models.layer("Dense", name, units=32, activation="relu") for name in ("a.c", "abc", "x+(y")])
        policies, _, manifest, _ = self.auto("names", "memory,mixed_bfloat16", "--mode=infer", "--metric=output:0.05")
        assert set(policies) == {"a\\.c", "abc", "x\\+\\(y", "head"}, policies
        compute = {row["path"]: row["compute"] for row in manifest["layers"]}
        for key, policy in policies.items():
            expected = "bf16" if policy == "mixed_bfloat16" else "f32"
            assert compute[re.sub(r"\\(.)", r"\1", key)] == expected, (key, policy, compute)
        assert "mixed_bfloat16" in policies.values(), policies


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    arguments = parser.parse_args()
    return named_tests.run(named_tests.methods(Search(Tools(arguments.bin, arguments.work))))


if __name__ == "__main__":
    sys.exit(main())
