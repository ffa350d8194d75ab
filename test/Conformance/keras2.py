#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks mpc against what Keras 2 computed: the files of fixtures/keras2, as their README says.

Each folder holds a model as some Keras 2 wrote it, what that Keras predicts, and, for a case of kind
train, the losses and weights of further steps. A case that keras2.json lists as not yet working must
fail; one that works and is still listed fails the run, and so does a list that names no case.

  test/Conformance/keras2.py --kind predict
  test/Conformance/keras2.py --case 'bi_.*' --keep        one case's files stay for a look
  test/Conformance/keras2.py --fixtures FOLDER            other cases that are laid out alike
"""

import argparse
import concurrent.futures
import glob
import json
import os
import re
import shutil
import sys
import tempfile
import time

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import execution
import places
import report

KINDS = ["predict", "train"]
FINAL_TOLERANCE = 2e-3


class Case:
    def __init__(self, folder):
        self.folder = folder
        self.name = os.path.basename(folder)
        with open(os.path.join(folder, "meta.json")) as handle:
            self.description = json.load(handle)
        self.kind = self.description["kind"]
        self.identifier = f"keras2/{self.name}"

    def path(self, name):
        return os.path.join(self.folder, name)


def find_cases(fixtures):
    return [Case(os.path.dirname(path)) for path in sorted(glob.glob(os.path.join(fixtures, "*", "meta.json")))]


def model_of(case, tools, folder):
    """The model file; of an architecture in JSON and its weights, the file that mpc-convert makes of both."""
    for name in ("model.keras", "model.h5"):
        if os.path.exists(case.path(name)):
            return case.path(name)
    weights = next(name for name in ("weights.weights.h5", "weights.h5") if os.path.exists(case.path(name)))
    converted = os.path.join(folder, "converted.keras")
    tools.run("mpc-convert", case.path(weights), "--model", case.path("model.json"), "-o", converted)
    return converted


def far_off(got, expected, tolerance):
    """How far two arrays are apart, in units of the tolerance, which is relative to the largest value."""
    got, expected = numpy.asarray(got, numpy.float64), numpy.asarray(expected, numpy.float64)
    if got.shape != expected.shape:
        return float("inf")
    finite = numpy.isfinite(expected)
    same = (got == expected) | (numpy.isnan(got) & numpy.isnan(expected))
    if (~same & ~(finite & numpy.isfinite(got))).any():
        return float("inf")
    if not finite.any():
        return 0.0
    largest = numpy.abs(expected[finite]).max()
    error = numpy.abs(got[finite] - expected[finite]).max()
    return 0.0 if error == 0 else float(error / (tolerance * largest)) if largest else float("inf")


def compare_predictions(case, tools, compiled, folder):
    """Returns (lines about outputs that differ, arrays compared, worst error)."""
    predictions = os.path.join(folder, "predictions.npz")
    tools.run("mpc-run", "predict", compiled, "--inputs", case.path("x.npz"), "--outputs", predictions)
    got, expected = execution.load(predictions), execution.load(case.path("y.npz"))
    with open(os.path.join(compiled, "model.json")) as handle:
        names = [output["name"] for output in json.load(handle)["outputs"]]
    if len(names) != len(expected):
        return [f"{len(names)} outputs, expected {len(expected)}"], 0, float("inf")
    messages, worst = [], 0.0
    for index, name in enumerate(names):
        off = far_off(got[name], expected[f"out{index}"], case.description["tolerance"])
        worst = max(worst, off)
        if off > 1:
            messages.append(f"out{index}: {off:.3g} times the tolerance")
    return messages, len(names), worst


def compare_losses(got, expected, tolerance, taken):
    """Worst error in units of the tolerance over the steps that loss scaling did not skip."""
    if got.shape != expected.shape:
        return float("inf")
    got, expected = got[taken], expected[taken]
    if not got.size or not numpy.isfinite(got).all():
        return float("inf")
    return float((numpy.abs(got - expected) / (tolerance * numpy.maximum(numpy.abs(expected), 1e-12))).max())


def compare_weights(trace, expected):
    """Lines about final weights to which no variable of the same shape comes near."""
    left = [array for name, array in trace.items() if name.startswith("final:")]
    messages = []
    for index in range(sum(name.startswith("final") and name[5:].isdigit() for name in expected)):
        wanted = numpy.asarray(expected[f"final{index}"], numpy.float64)
        alike = [(numpy.abs(array.astype(numpy.float64) - wanted).max() if wanted.size else 0.0, place)
                 for place, array in enumerate(left) if array.shape == wanted.shape]  # fmt: skip
        allowed = FINAL_TOLERANCE * max(1.0, float(numpy.abs(wanted).max()) if wanted.size else 1.0)
        if not alike or not min(alike)[0] <= allowed:
            nearest = f"the nearest is {min(alike)[0]:.3g} off" if alike else "no variable has its shape"
            messages.append(f"final{index} {list(wanted.shape)}: {nearest}")
        else:
            left.pop(min(alike)[1])
    return messages


def compare_training(case, tools, compiled, folder):
    description = case.description
    path = os.path.join(folder, "trace.npz")
    tools.run("mpc-run", "train", compiled, "--data", case.path("data.npz"), "--shuffle=off",
              "--steps", str(description["steps"]), "--batch-size", str(description["batch"]),
              "--trace", path)  # fmt: skip
    trace, expected = execution.load(path), execution.load(case.path("train.npz"))
    losses = numpy.asarray(trace["loss"], numpy.float64).reshape(-1)
    scales = "dynamic_scale" in trace  # only then a step may be skipped
    taken = numpy.asarray(trace["changed"], bool) if scales else numpy.ones(losses.shape, bool)
    worst, messages = {}, []
    for name in ("losses", "losses_reloaded"):
        if name in expected:
            worst[name] = compare_losses(losses, expected[name], description["loss_tolerance"], taken)
    if min(worst.values()) > 1:
        messages = [f"{name}: {off:.3g} times the tolerance; {losses.tolist()}, expected "
                    f"{expected[name].tolist()}" for name, off in worst.items()]  # fmt: skip
    elif worst["losses"] <= 1:
        # The weights are those of the process that wrote the file, as `losses` are.
        messages = compare_weights(trace, expected)
    return messages, len(losses), min(worst.values())


def compare_evaluation(case, tools, compiled):
    """Lines about losses and metrics that Keras's evaluate reported of the data, and mpc reports otherwise."""
    wanted = case.description.get("evaluated", {})
    if not wanted:
        return []
    said = tools.run("mpc-run", "evaluate", compiled, "--data", case.path("data.npz"), "--json",
                     "--batch-size", str(case.description["evaluated_batch"]))  # fmt: skip
    got = json.loads(said)
    return [f"evaluate: {name} is {got.get(name)}, expected {value}" for name, value in wanted.items()
            if name not in got or not abs(got[name] - value) <= 1e-5 * max(1, abs(value))]  # fmt: skip


def run_case(case, tools, not_yet, keep):
    start = time.monotonic()
    folder = os.path.join(tools.work_folder, "cases", case.name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    arrays, worst, messages = 0, float("inf"), []
    try:
        compiled = tools.compile(model_of(case, tools, folder))
        messages, arrays, worst = compare_predictions(case, tools, compiled, folder)
        if case.kind == "train":
            more, count, off = compare_training(case, tools, compiled, folder)
            messages, arrays, worst = messages + more, arrays + count, max(worst, off)
            messages += compare_evaluation(case, tools, compiled)
        status = "fail" if messages else "pass"
    except execution.ToolError as error:
        status, messages = "error", [str(error)]
    except Exception as error:  # A broken result file must not end the whole run.
        status, messages = "error", [f"{type(error).__name__}: {error}"]
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    if case.name in not_yet:
        status = "xpass" if status == "pass" else "xfail"
        messages.append(f"listed as not yet working: {not_yet[case.name]}")
    return report.Result(case.identifier, status, time.monotonic() - start, arrays, worst, messages)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(HERE, "../../build/release/bin"))
    parser.add_argument("--fixtures", default=places.fixtures("keras2"))
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--case", help="regular expression that the name must match fully")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--threads", type=int, help="of each case; default: the cores that the jobs leave it")
    parser.add_argument("--keep", action="store_true", help="keep the files of each case")
    parser.add_argument("--work", help="folder for compiled models and results")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    cases = find_cases(arguments.fixtures)
    if not cases:
        print(f"error: {arguments.fixtures}: no cases; expected the files of Keras 2; scripts/build unpacks them")
        return 1
    with open(os.path.join(HERE, "keras2.json")) as handle:
        not_yet = json.load(handle)["not_yet"]
    unknown = sorted(set(not_yet) - {case.name for case in cases})
    if unknown and os.path.basename(os.path.normpath(arguments.fixtures)) == "keras2":
        print(f"error: keras2.json: there is no case {', '.join(unknown)}")
        return 1
    cases = [case for case in cases if case.kind in (arguments.kind or KINDS)]
    if arguments.case:
        cases = [case for case in cases if re.fullmatch(arguments.case, case.name)]
    work = arguments.work or tempfile.mkdtemp(prefix="mpc-keras2-")
    tools = execution.Tools(os.path.realpath(arguments.bin), os.path.realpath(work),
                            arguments.threads or max(1, (os.cpu_count() or 1) // arguments.jobs))  # fmt: skip
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda case: run_case(case, tools, not_yet, arguments.keep), cases))
    if arguments.keep:
        print(f"files are in {work}")
    elif not arguments.work:
        shutil.rmtree(work, ignore_errors=True)
    report.print_table(results, arguments.verbose)
    by_status = {}
    for result in results:
        by_status[result.status] = by_status.get(result.status, 0) + 1
    print("\n" + ", ".join(f"{count} {status}" for status, count in sorted(by_status.items())))
    print(f"ran {len(results)} tests")
    return 0 if results and all(result.good for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
