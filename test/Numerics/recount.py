#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The statistics of traced values against a recount in NumPy of the same values, and training with and
without them, bit by bit."""

import argparse
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

import numpy  # noqa: E402

import models  # noqa: E402
import named_tests  # noqa: E402
from tools import Tools, add_arguments  # noqa: E402

SMALLEST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float8_e4m3fn": 2.0**-6, "float8_e5m2": 2.0**-14}
LARGEST = {
    "float16": 65504.0,
    "bfloat16": float(numpy.float32(3.3895314e38)),
    "float32": float(numpy.finfo("float32").max),
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
}


COUNTS = ("count", "zero", "subnormal", "inf", "nan", "saturated", "exponents")
MAGNITUDES = ("min_abs", "max_abs", "mean", "rms")


def recount(elements, dtype):
    x = elements.astype("float64")
    finite = x[numpy.isfinite(x)]
    nonzero = numpy.abs(finite[finite != 0])
    _, exponents = numpy.frexp(nonzero)
    names, counts = numpy.unique(exponents - 1, return_counts=True)
    return {
        "count": x.size,
        "zero": int((x == 0).sum()),
        "subnormal": int((nonzero < SMALLEST_NORMAL[dtype]).sum()),
        "inf": int(numpy.isinf(x).sum()),
        "nan": int(numpy.isnan(x).sum()),
        "saturated": int((nonzero == LARGEST[dtype]).sum()),
        "exponents": {str(name): int(count) for name, count in zip(names, counts)},
        "min_abs": nonzero.min() if nonzero.size else None,
        "max_abs": nonzero.max() if nonzero.size else 0.0,
        "mean": finite.mean() if finite.size else 0.0,
        "rms": numpy.sqrt((finite**2).mean()) if finite.size else 0.0,
    }


def to_bfloat16(x):
    """The nearest numbers of bfloat16, of two the even one."""
    bits = x.astype("float32").view("uint32").astype("uint64")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype("uint32").view("float32")


def to_e4m3(x):
    """The nearest numbers of float8_e4m3fn, of two the even one; x is in its range."""
    _, exponents = numpy.frexp(numpy.abs(x).astype("float64"))
    step = 2.0 ** (numpy.maximum(exponents - 1, -6) - 3)
    return (numpy.rint(x.astype("float64") / step) * step).astype("float32")


def compare(value, expected):
    where = f"slot {value['slot']}, {value['op']} of {value['layer']}"
    for key, count in expected.items():
        got = value[key]
        if isinstance(count, float):
            # Sums of a value around 0 are compared to what was added.
            scale = max(abs(count), expected["rms"] if key == "mean" else 0.0)
            assert abs(got - count) <= 1e-6 * scale, f"{where}: {key} is {got}, expected {count}"
        else:
            assert got == count, f"{where}: {key} is {got}, expected {count}"


class Statistics:
    def __init__(self, tools):
        self.tools = tools

    def prepare(self, name, policy, *options, change=None):
        model, data = self.tools.path(name + ".json"), self.tools.path(name + ".npz")
        models.write(model, models.family(name))
        x, y = models.data_of(name, 48, seed=1)
        numpy.savez(data, x=change(x) if change else x, y0=y)
        library = self.tools.compile(model, f"{name}_{policy}", f"--policy={policy}", *options)
        return library, data

    def recounted(self, name, policy, change=None, values=None):
        library, data = self.prepare(name, policy, "--optimizer=adam", change=change)
        dump = self.tools.path(f"{name}_{policy}.dump.npz")
        report = self.tools.numerics(library, data, "--batch-size", 48, "--dump", dump)
        with numpy.load(dump) as elements:
            assert len(report["values"]) == len(elements.files) > 20, len(elements.files)
            for value in report["values"]:
                compare(value, recount(elements[f"slot{value['slot']}"], value["dtype"]))
                if values is not None:
                    values[value["slot"]] = value
        narrow = [v for v in report["values"] if v["dtype"] != "float32"]
        assert (policy == "float32") != bool(narrow)
        return f"{len(report['values'])} values"

    def test_dense_float16(self):
        return self.recounted("dense", "mixed_float16")

    def test_dense_bfloat16(self):
        return self.recounted("dense", "mixed_bfloat16")

    def test_dense_float8(self):
        """Numbers of float8 as they are multiplied: some are clipped, before the scale knows how large they are."""
        values = {}

        def change(x):
            return x * 1000

        self.recounted("dense", "float8_from_mixed_bfloat16", change, values)
        rounded = [v for v in values.values() if v["op"] == "round_float8"]
        assert {v["dtype"] for v in rounded} == {"float8_e4m3fn", "float8_e5m2"}, rounded
        assert {v["direction"] for v in rounded} == {"forward", "backward"}, rounded
        assert any(v["saturated"] > 100 for v in rounded), rounded
        assert all(v["underflow"] is not None for v in rounded), rounded
        return f"{len(rounded)} values of float8"

    def test_conv_float32(self):
        return self.recounted("conv", "float32")

    def test_lstm_float16(self):
        return self.recounted("lstm", "mixed_float16")

    @staticmethod
    def with_extremes(x):
        x[3, 2], x[7, 1], x[8, 0], x[9], x[10, 1] = numpy.inf, numpy.nan, 65504, 1e-6, 1e-40
        return x

    def test_not_finite(self):
        return self.recounted("layer_norm", "mixed_float16", self.with_extremes)

    def test_underflow_of_casts(self):
        """A narrowing cast counts what it made 0, exactly."""
        library, data = self.prepare("dense", "mixed_float16", "--optimizer=sgd")
        with numpy.load(data) as arrays:
            x = arrays["x"]
            x[:, :3] *= 1e-9
            numpy.savez(data, x=x, y0=arrays["y0"])
        report = self.tools.numerics(library, data, "--batch-size", 48)
        casts = [v for v in report["values"] if v["op"] == "cast" and v["layer"] == "probe"]
        lost = int(((x != 0) & (x.astype("float16") == 0)).sum())
        assert lost > 100 and casts[0]["count"] == x.size
        assert casts[0]["underflow"] == lost, f"{casts[0]['underflow']}, expected {lost}"

    def same_training(self, name, policy, optimizer):
        """Looking changes no bit of losses, weights and optimizer state: neither in the step nor beside it."""
        library, data = self.prepare(name, policy, f"--optimizer={optimizer}")
        traces = []
        for look, options in {"plain": [], "watched": ["--numerics-every", 1], "turns": ["--numerics-every", 2],
                              "errors": ["--numerics-every", 2, "--numerics-errors"]}.items():  # fmt: skip
            reports = self.tools.path(f"reports_{name}_{look}")
            traces.append(self.tools.path(f"{name}_{look}.npz"))
            where = ["--numerics", reports, *options] if options else []
            self.tools.train(library, data, "--steps", 6, "--batch-size", 16, "--trace", traces[-1], *where)
            if options:
                files = sorted(os.listdir(reports))
                assert files == [f"step-{step:012}.json" for step in range(0, 6, options[1])], files
                with open(os.path.join(reports, files[-1])) as handle:
                    values = json.load(handle)["values"]
                assert all((value["error"] is not None) == (look == "errors") for value in values), look
        with numpy.load(traces[0]) as plain:
            for other in traces[1:]:
                with numpy.load(other) as looked:
                    assert sorted(plain.files) == sorted(looked.files) and len(plain.files) > 8
                    for array in plain.files:
                        assert plain[array].tobytes() == looked[array].tobytes(), (other, array)
        return f"{len(values)} values with errors"

    def watched(self, name, policy, optimizer, change=None):
        """Statistics of watched steps against a recount; weights, gradients and inputs against what they are."""
        library, data = self.prepare(name, policy, f"--optimizer={optimizer}", change=change)
        reports, trained = self.tools.path(f"watched_{name}"), self.tools.path(f"watched_{name}.npz")
        self.tools.train(library, data, "--steps", 3, "--batch-size", 16, "--trace", trained, "--numerics", reports,
                         "--numerics-every", 1, "--numerics-dump")  # fmt: skip
        # Without the elements a GPU counts by itself.
        alone = self.tools.path(f"alone_{name}")
        self.tools.train(library, data, "--steps", 3, "--batch-size", 16, "--numerics", alone, "--numerics-every", 1)
        steps = []
        for step in range(3):
            path = os.path.join(reports, f"step-{step:012}")
            with open(path + ".json") as handle:
                values = json.load(handle)["values"]
            with open(os.path.join(alone, f"step-{step:012}.json")) as handle:
                counted = json.load(handle)["values"]
            assert len(counted) == len(values)
            for one, other in zip(counted, values):
                compare(one, {key: other[key] for key in (*COUNTS, *MAGNITUDES)})
                assert {key: one[key] for key in one if key not in MAGNITUDES} == {key: other[key] for key in other if key not in MAGNITUDES}
            with numpy.load(path + ".npz") as arrays:
                elements = {value["slot"]: arrays[f"slot{value['slot']}"] for value in values}
            for value in values:
                compare(value, recount(elements[value["slot"]], value["dtype"]))
            steps.append({(v["layer"], v["op"]): elements[v["slot"]] for v in values})
        assert len(steps[0]) == len(steps[2]) > 10, len(steps[0])
        with numpy.load(data) as arrays:
            if ("x", "input") in steps[0]:
                assert (steps[1][("x", "input")] == arrays["x"][16:32].ravel()).all()
        with numpy.load(trained) as arrays:
            final = {key[6:]: arrays[key] for key in arrays.files if key.startswith("final:")}
        checked = 0
        for layer, op in steps[2]:
            if op.startswith("updated:"):
                named = [array for name, array in final.items() if name.startswith(layer) and name.endswith("/" + op[8:])]
                assert len(named) == 1 and (steps[2][layer, op] == named[0].ravel()).all(), (layer, op)
                checked += 1
            if op.startswith("update:"):
                change = steps[2][layer, "updated:" + op[7:]] - steps[1][layer, "updated:" + op[7:]]
                assert (steps[2][layer, op] == change).all(), (layer, op)
            if op.startswith("cast:"):
                kind = "float16" if "float16" == policy[6:] else None
                master = steps[2][layer, "updated:" + op[5:]]
                assert kind is None or (steps[2][layer, op] == master.astype(kind)).all(), (layer, op)
        gradients = {(v["layer"], v["op"].split(":")[1]) for v in values if "gradient:" in v["op"]}
        updates = {(layer, op[8:]) for layer, op in steps[0] if op.startswith("updated:")}
        assert checked >= 3 and gradients <= updates and ("head", "kernel") in gradients, (checked, gradients)
        assert policy == "float32" or ("head", "cast:kernel") in steps[0]
        return f"{len(steps[0])} values, {checked} variables, {len(gradients)} gradients"

    def test_same_conv(self):
        return self.same_training("conv", "mixed_float16", "adam")

    def test_same_dense(self):
        return self.same_training("dense", "mixed_bfloat16", "adam")

    def test_same_depthwise(self):
        return self.same_training("depthwise", "mixed_bfloat16", "sgd")

    def test_same_lstm(self):
        return self.same_training("lstm", "mixed_bfloat16", "adam")

    def test_same_gru(self):
        return self.same_training("gru", "mixed_float16", "adam")

    def test_same_embedding(self):
        return self.same_training("embedding", "mixed_bfloat16", "adam")

    def test_same_batch_norm(self):
        return self.same_training("batch_norm", "float32", "adam")

    def test_watched_dense(self):
        return self.watched("dense", "mixed_bfloat16", "adam")

    def test_watched_conv(self):
        return self.watched("conv", "mixed_float16", "adam")

    def test_watched_lstm(self):
        return self.watched("lstm", "mixed_float16", "sgd")

    def test_watched_layer_norm(self):
        return self.watched("layer_norm", "float32", "adam")

    def test_watched_float8(self):
        """Numbers of float8 in the step itself: of a layer's inputs against their rounding in NumPy, with the scale
        that the step before has left."""
        self.watched("dense", "float8_from_mixed_bfloat16", "adam")

        def change(x):
            x *= 1000
            x[:, :3] *= 1e-9
            return x

        library, data = self.prepare("dense", "float8_from_mixed_bfloat16", "--optimizer=adam", change=change)
        with numpy.load(data) as arrays:
            x = arrays["x"]
        reports = self.tools.path("watched_float8")
        self.tools.train(library, data, "--steps", 3, "--batch-size", 16, "--numerics", reports, "--numerics-every", 1,
                         "--numerics-dump")  # fmt: skip
        scale, saturated, lost = numpy.float32(1), [], []
        for step in range(3):
            path = os.path.join(reports, f"step-{step:012}")
            with open(path + ".json") as handle:
                values = json.load(handle)["values"]
            rounded = [v for v in values if v["op"] == "round_float8"]
            of = {(layer, direction): [v for v in rounded if (v["layer"], v["direction"]) == (layer, direction)]
                  for layer in ("probe", "head") for direction in ("forward", "backward")}  # fmt: skip
            assert all(v["dtype"] == "float8_e4m3fn" for layer in ("probe", "head") for v in of[layer, "forward"])
            assert all(v["dtype"] == "float8_e5m2" for layer in ("probe", "head") for v in of[layer, "backward"])
            # Inputs, weights, and the gradient of what the layer gives.
            counts = {key: sorted(v["count"] for v in found) for key, found in of.items()}
            assert counts == {("probe", "forward"): [192, 192], ("probe", "backward"): [256], ("head", "forward"): [64, 256],
                              ("head", "backward"): [64]}, counts  # fmt: skip
            rows = x[16 * step : 16 * step + 16].ravel()
            scaled = to_bfloat16(to_bfloat16(rows) / to_bfloat16(scale.reshape(1)))
            numbers = to_e4m3(numpy.clip(scaled, -448, 448))
            with numpy.load(path + ".npz") as arrays:
                inputs = [v for v in of["probe", "forward"] if (arrays[f"slot{v['slot']}"] == numbers).all()]
                (found,) = [v for v in values if (v["layer"], v["op"]) == ("probe", "updated:inputs_scale")]
                scale = arrays[f"slot{found['slot']}"]
            assert len(inputs) == 1, f"step {step}: no value is the rounding of the inputs"
            compare(inputs[0], recount(numbers, "float8_e4m3fn"))
            saturated.append(inputs[0]["saturated"])
            lost.append(int(((rows != 0) & (numbers == 0)).sum()))
            assert inputs[0]["underflow"] == lost[-1], (inputs[0]["underflow"], lost)
        assert saturated[0] > 50 > saturated[2] and min(lost) > 40, (saturated, lost)
        return f"{len(rounded)} values of float8, saturated {saturated}, lost {lost}"

    def test_same_float8(self):
        return self.same_training("dense", "float8_from_mixed_bfloat16", "adam")

    def test_one_batch(self):
        """Steps that take the same rows again, of which some are watched."""
        library, data = self.prepare("dense", "mixed_bfloat16", "--optimizer=sgd")
        traces = []
        for options in [], ["--numerics", self.tools.path("reports_one_batch"), "--numerics-every", 2]:
            traces.append(self.tools.path(f"one_batch_{len(options)}.npz"))
            self.tools.train(library, data, "--steps", 5, "--batch-size", 48, "--trace", traces[-1], *options)
        with numpy.load(traces[0]) as plain, numpy.load(traces[1]) as looked:
            for array in plain.files:
                assert plain[array].tobytes() == looked[array].tobytes(), array

    def test_watched_not_finite(self):
        return self.watched("dense", "mixed_float16", "adam", self.with_extremes)

    def test_page(self):
        """A page of a training shows its layers over the steps; TensorBoard's log lies beside the others."""
        library, data = self.prepare("conv", "mixed_float16", "--optimizer=adam")
        page, log = self.tools.path("training.html"), self.tools.path("log")
        shutil.rmtree(log, ignore_errors=True)
        self.tools.train(library, data, "--steps", 5, "--batch-size", 16, "--numerics", self.tools.path("paged"),
                         "--numerics-every", 2, "--html", page, "--tensorboard", log)  # fmt: skip
        with open(page) as handle:
            text = handle.read()
        assert text.count('<svg class="steps"') == text.count('<div class="layer ') >= 4, text.count('<svg class="steps"')
        assert "over steps 0 to 4" in text and "<title>step 2</title>" in text and "<script" not in text
        (events,) = os.listdir(os.path.join(log, "numerics"))
        with open(os.path.join(log, "numerics", events), "rb") as handle:
            written = handle.read()
        assert b"exponents/backward/probe/" in written and b"brain.Event:2" in written

    def test_same_entries(self):
        """Entries that others call do what they did without --numerics."""
        model, data = self.tools.path("entries.json"), self.tools.path("entries.npz")
        models.write(model, models.family("dense"))
        x, y = models.data_of("dense", 48, seed=2)
        numpy.savez(data, x=x, y0=y)
        results = []
        for name, option in {"with": "--mode=train", "without": "--numerics=false"}.items():
            library = self.tools.compile(
                model, "entries_" + name, "--policy=mixed_float16", "--optimizer=adam", option
            )
            results.append(self.tools.path(f"entries_{name}.npz"))
            self.tools.train(library, data, "--steps", 4, "--trace", results[-1])
        with numpy.load(results[0]) as one, numpy.load(results[1]) as other:
            for name in one.files:
                assert one[name].tobytes() == other[name].tobytes(), name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--only", nargs="+", help="names of tests")
    arguments = parser.parse_args()
    tests = named_tests.methods(Statistics(Tools(arguments.bin, arguments.work, arguments.device)))
    if arguments.only:
        tests = {name: tests[name] for name in arguments.only}
    return named_tests.run(tests)


if __name__ == "__main__":
    sys.exit(main())
