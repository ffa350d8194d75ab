#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`mpc-run compare`: a model against itself and against other policies of it."""

import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

import numpy  # noqa: E402

import models  # noqa: E402
import named_tests  # noqa: E402
from tools import Tools, add_arguments  # noqa: E402


class Compare:
    def __init__(self, tools):
        self.tools = tools
        self.data = tools.path("dense.npz")
        x, y = models.data_of("dense", 64, seed=3)
        numpy.savez(self.data, x=x, y0=y)
        models.write(tools.path("dense.json"), models.family("dense"))
        self.libraries = {
            policy: tools.compile(
                tools.path("dense.json"), policy, f"--policy={policy}", "--optimizer=adam", "--learning-rate=0.01"
            )
            for policy in ("float32", "mixed_float16", "mixed_bfloat16")
        }  # fmt: skip

    def compare(self, first, second, *options):
        libraries = self.libraries[first], self.libraries[second]
        out = self.tools.call("mpc-run", "compare", *libraries, "--data", self.data, "--json", *options)
        return json.loads(out)

    def test_itself(self):
        report = self.compare("mixed_float16", "mixed_float16", "--steps", 3)
        assert report["first_divergence"] is None and len(report["values"]) > 30
        for value in report["values"]:
            assert value["relative_error"] == 0, value
            assert abs(value["cosine"] - 1) < 1e-12 or not value["max_abs"], value
        assert len(report["training"]["loss"]) == 3
        assert all(a == b for a, b in report["training"]["loss"])

    def test_policies(self):
        """Errors are those of the format, forward and backward, whatever the loss scale."""
        for policy, low, high in (("mixed_float16", 1e-5, 3e-3), ("mixed_bfloat16", 2e-4, 3e-2)):
            report = self.compare("float32", policy, "--steps", 4)
            assert report["first_divergence"]["layer"] == "probe", report["first_divergence"]
            errors = {
                direction: max(
                    v["relative_error"]
                    for v in report["values"]
                    if v["direction"] == direction and v["dtype"] != "float32"
                )
                for direction in ("forward", "backward")
            }
            assert all(low < error < high for error in errors.values()), (policy, errors)
            for a, b in report["training"]["loss"]:
                assert abs(a - b) < 0.02 * abs(a), report["training"]["loss"]
            assert set(report["training"]["metrics"]) >= {"loss"}

    def test_own_errors(self):
        """A float32 layer behind one in bfloat16 inherits errors and makes none."""
        policy = self.tools.path("map.json")
        with open(policy, "w") as handle:
            json.dump({"default_policy": "float32", "policy_map": {"probe": "mixed_bfloat16"}}, handle)
        self.libraries["map"] = self.tools.compile(
            self.tools.path("dense.json"), "map", f"--policy={policy}", "--optimizer=adam", "--learning-rate=0.01"
        )
        values = self.compare("float32", "map")["values"]
        forward = [value for value in values if value["direction"] == "forward" and value["max_abs"]]
        head = [value for value in forward if value["layer"] == "head" and "weight" not in value["op"]]
        assert head and all(value["relative_error"] > 1e-5 > 1e-6 > value["own_error"] for value in head), head
        probe = [value for value in forward if value["layer"] == "probe" and value["dtype"] == "bfloat16"]
        assert probe and max(value["own_error"] for value in probe) > 1e-4, probe
        for value in self.compare("float32", "mixed_bfloat16")["values"]:
            assert value["own_error"] < 0.05, value

    def test_other_model(self):
        models.write(self.tools.path("conv.json"), models.family("conv"))
        self.libraries["conv"] = self.tools.compile(self.tools.path("conv.json"), "conv", "--optimizer=adam")
        try:
            self.compare("float32", "conv")
        except AssertionError as problem:
            assert "exit 1" in str(problem), problem
            return
        raise AssertionError("two different models are compared")

    def test_page(self):
        page = self.tools.path("page.html")
        self.compare("float32", "mixed_bfloat16", "--html", page)
        with open(page) as handle:
            text = handle.read()
        assert "<svg" in text and "probe" in text and "<script" not in text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    arguments = parser.parse_args()
    return named_tests.run(named_tests.methods(Compare(Tools(arguments.bin, arguments.work, arguments.device))))


if __name__ == "__main__":
    sys.exit(main())
