#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`mpc-run numerics --blame` on small trained models, each with one fault: it names layer, direction and
step of every one; on healthy models it names nothing."""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

import numpy  # noqa: E402

import faults  # noqa: E402
import models  # noqa: E402
import named_tests  # noqa: E402
from tensor_files import read_safetensors, write_safetensors  # noqa: E402
from tools import Tools  # noqa: E402

SEED = 45


class Blame:
    def __init__(self, tools):
        self.tools = tools
        self.libraries = {}
        self.trained = {}

    def data(self, family):
        path = self.tools.path(family + ".npz")
        if not os.path.exists(path):
            x, y = models.data_of(family, 96, seed=SEED)
            numpy.savez(path, x=x, y0=y)
        return path

    def library(self, fault):
        if fault.key not in self.libraries:
            name = f"model{len(self.libraries)}"
            model = self.tools.path(name + ".json")
            models.write(model, models.family(fault.family, fault.before, fault.after))
            self.libraries[fault.key] = self.tools.compile(
                model, name, f"--policy={fault.policy}", *fault.options
            )
        return self.libraries[fault.key]

    def weights(self, fault):
        """Trained in float32 without what faults need, so that they are those of a sound model."""
        if fault.family not in self.trained:
            sound = faults.Fault("", fault.family, None, policy="float32", options=("--optimizer=adam",))
            path = self.tools.path(fault.family + ".safetensors")
            self.tools.train(
                self.library(sound), self.data(fault.family), "--steps", 30, "--batch-size", 32, "--save", path
            )  # fmt: skip
            arrays = read_safetensors(path)
            self.trained[fault.family] = {
                name.removeprefix("model/"): array
                for name, array in arrays.items()
                if not name.startswith(("optimizer/", "metric/", "random/"))
            }
        path = self.tools.path(fault.name + ".safetensors")
        changed = {}
        for name, array in self.trained[fault.family].items():
            for end, factor in fault.factors.items():
                if name.endswith(end) and ("probe" in name or "head" in end):
                    array = array * numpy.float32(factor)
            if fault.largest and "probe" in name and "recurrent" not in name and name.endswith("/kernel"):
                array = array * numpy.float32(fault.largest / numpy.abs(array).max())
            if fault.offset and name.endswith(("probe/bias", "probe/beta")):
                array = array.copy()
                array[0] = fault.offset
            changed[name] = array.astype("float16" if fault.policy == "float16" else "float32")
        write_safetensors(path, changed)
        return path

    def blame(self, fault):
        return self.tools.numerics(
            self.library(fault), self.data(fault.family), "--blame", "--batch-size", 32, "--weights",
            self.weights(fault),
        )  # fmt: skip

    def check(self, fault):
        found = self.blame(fault)
        if fault.direction is None:
            assert not found["found"], f"a healthy model is blamed: {found}"
            return ""
        assert found["found"], "nothing is blamed"
        got = (found["layer"], found["direction"], found["step"])
        expected = (fault.blamed, fault.direction, fault.step)
        if fault.blamed == "*":
            got, expected = got[1:], expected[1:]
        assert got == expected, f"blames {found}"
        assert found["kind"] in fault.kinds, f"kind is {found['kind']}"
        assert found["advice"] and found["operands"] is not None
        if fault.is_absorbed:
            assert found["absorbed_by"], f"absorbed by nothing: {found}"
        return found["kind"] + (f", absorbed by {found['absorbed_by']['op']}" if found["absorbed_by"] else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--only", help="a part of the names of tests")
    parser.add_argument("--all", action="store_true", help="all models, not a selection")
    arguments = parser.parse_args()
    blame = Blame(Tools(arguments.bin, arguments.work))
    faulty, sound = faults.make_all(SEED)
    if not (arguments.all or arguments.only):
        faulty, sound = faulty[::5], sound[::5]
    tests = {fault.name: (lambda fault=fault: blame.check(fault)) for fault in faulty + sound}
    if arguments.only:
        tests = {name: test for name, test in tests.items() if arguments.only in name}
    return named_tests.run(tests)


if __name__ == "__main__":
    sys.exit(main())
