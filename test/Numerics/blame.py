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
import further_faults  # noqa: E402
import models  # noqa: E402
import named_tests  # noqa: E402
import other_faults  # noqa: E402
from tensor_files import read_safetensors, write_safetensors  # noqa: E402
from tools import Tools, add_arguments  # noqa: E402

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

    def blame_further(self, fault):
        """Trained in float32 by its own data, then changed."""
        name = "further_" + fault.name
        model, sound, faulty, trained, changed = (
            self.tools.path(name + end) for end in (".json", "-sound.npz", ".npz", "-trained.safetensors", ".safetensors")
        )
        models.write(model, fault.model)
        x, y = further_faults.data_of(fault, SEED)
        numpy.savez(sound, x=x, y0=y)
        if fault.data:
            x, y = fault.data(x, y)
        weights = {"sample_weight": fault.weights(x)} if fault.weights else {}
        numpy.savez(faulty, x=x, y0=y, **weights)
        options = list(fault.options)
        for kind, config in fault.configs.items():
            path = self.tools.path(f"{name}-{kind}.json")
            models.write(path, config)
            options.append(f"--{kind}={path}")
        loss = [option for option in options if option.startswith("--loss=")]
        # With targets of its own it stays near what initializers made.
        data, steps = (faulty, 1) if loss else (sound, 30)
        library = self.tools.compile(model, name + "-sound", "--policy=float32", "--optimizer=adam", "--numerics=false", *loss)
        self.tools.train(library, data, "--steps", steps, "--batch-size", 32, "--save", trained)
        library = self.tools.compile(model, name, f"--policy={fault.policy}", *options)
        random = numpy.random.default_rng(SEED)
        arrays = {
            path.removeprefix("model/"): array
            for path, array in read_safetensors(trained).items()
            if not path.startswith(("optimizer/", "metric/", "random/"))
        }
        if fault.change:
            arrays = {path: fault.change(path, array, random) for path, array in arrays.items()}
        dtype = fault.policy if fault.policy == "float16" else "float32"
        write_safetensors(changed, {path: array.astype(dtype) for path, array in arrays.items()})
        return self.tools.numerics(library, faulty, "--blame", "--batch-size", 32, "--weights", changed)

    @staticmethod
    def judge(fault, found):
        if fault.direction is None:
            assert not found["found"], f"a healthy model is blamed: {found}"
            return ""
        assert found["found"], "nothing is blamed"
        assert (found["direction"], found["step"]) == (fault.direction, fault.step), f"blames {found}"
        assert fault.blamed in ("*", found["layer"], found["layer"].split("/")[0]), f"blames {found}"
        assert found["kind"] in fault.kinds, f"kind is {found}"
        assert found["advice"] and found["operands"] is not None
        if fault.is_absorbed:
            assert found["absorbed_by"], f"absorbed by nothing: {found}"
        return found["kind"] + (f", absorbed by {found['absorbed_by']['op']}" if found["absorbed_by"] else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--only", help="a part of the names of tests")
    parser.add_argument("--every", type=int, help="each so many of all models")
    parser.add_argument("--all", action="store_true", help="all models, not a selection")
    arguments = parser.parse_args()
    blame = Blame(Tools(arguments.bin, arguments.work, arguments.device))
    faulty, sound = faults.make_all(SEED)
    if not (arguments.all or arguments.only):
        every = arguments.every or 5
        faulty, sound = faulty[::every], sound[::every]
    tests = {fault.name: (lambda fault=fault: blame.judge(fault, blame.blame(fault))) for fault in faulty + sound}
    makers = {"further": further_faults, "other": other_faults}
    if arguments.device != "cpu" and not (arguments.all or arguments.only):
        del makers["other"]  # a device compiles a kernel for each layer's shapes
    for word, maker in makers.items():
        faults_of = maker.make_all(SEED)
        if not (arguments.all or arguments.only):
            faults_of = faults_of[:: arguments.every or 9]
        tests.update({f"{word}_{fault.name}": (lambda fault=fault: blame.judge(fault, blame.blame_further(fault))) for fault in faults_of})
    if arguments.only:
        tests = {name: test for name, test in tests.items() if arguments.only in name}
    return named_tests.run(tests)


if __name__ == "__main__":
    sys.exit(main())
