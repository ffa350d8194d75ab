#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records with real Keras what cases expect, and compares it with what was recorded before.

  test/Conformance/record.py forward/lstm__float32 'train/opt_.*'   patterns of KIND/CASE, keras2/CASE too
  test/Conformance/record.py --keras 3.16.0 --keep '.*'             all of them, with another Keras
  test/Conformance/record.py --new forward/thing__float32 --model m.keras --data x.npz --keep

Keras comes from PyPI into an environment of its own in the build folder: keras and tensorflow-cpu, or
tf_keras for keras2/. The recorded files go into --output. With --keep they replace the cases' in the
unpacked fixtures, and test/Conformance/cases.tar.xz is packed anew. A new case needs a model that
Model.save wrote (compiled, for gradient and train) and its data.npz, as the fixtures' README describes
it; how many cases there are then is raised in supported.json. Ends with exit 1 where a recorded number
leaves the tolerance of the one before.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import comparison
import execution
import keras2
import places
import selection

# The fixtures were recorded with these; tf_keras reads the files of every Keras 2.
KERAS, TENSORFLOW, TF_KERAS, TENSORFLOW_2 = "3.15.1", "2.21.0", "2.16.0", "2.16.2"


class Unreachable(Exception):
    """PyPI cannot be reached."""


def python_with(folder, module, variable, packages):
    """A Python that imports the module: the one that a variable of the environment names, or one in the build folder."""
    python = os.environ.get(variable) or os.path.join(folder, "bin", "python")
    if os.path.exists(python) and subprocess.run([python, "-c", f"import {module}, tensorflow"], capture_output=True).returncode == 0:
        return python
    subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
    python = os.path.join(folder, "bin", "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    if subprocess.run([*pip, "download", "--quiet", "--no-deps", "--dest", os.path.join(folder, "reach"), packages[0]]).returncode:
        raise Unreachable(f"PyPI cannot be reached, or has no {packages[0]}")
    subprocess.run([*pip, "install", "--quiet", *packages], check=True)
    return python


def find_cases(fixtures, patterns):
    """Folders of the cases whose KIND/CASE a pattern matches as a whole."""
    found = []
    for kind in [*(os.path.join("keras", kind) for kind in selection.KINDS), "keras2"]:
        root = os.path.join(fixtures, kind)
        for name in sorted(os.listdir(root)):
            folder = os.path.join(root, name)
            identifier = f"{os.path.basename(kind)}/{name}"
            if os.path.isdir(folder) and any(re.fullmatch(pattern, identifier) for pattern in patterns):
                found.append(folder)
    return found


def is_of_keras2(folder):
    return os.path.basename(os.path.dirname(folder)) == "keras2"


def compare(folder, recorded):
    """(what differs beyond its tolerance, arrays compared, worst error in tolerances)."""
    if not is_of_keras2(folder):
        case = selection.Case(folder)
        tolerances = case.description["tolerances"]["arrays"]
        got, expected = (execution.load(os.path.join(place, "expected.npz")) for place in (recorded, folder))
        lines, arrays, worst = comparison.compare(got, expected, tolerances, case.description.get("unchecked") or ())
        return [str(line) for line in lines], arrays, worst
    case, off = keras2.Case(folder), {}
    got, expected = (execution.load(os.path.join(place, "y.npz")) for place in (recorded, folder))
    for name in expected:
        off[name] = keras2.far_off(got[name], expected[name], case.description["tolerance"]) if name in got else float("inf")
    if case.kind == "train":
        got, expected = (execution.load(os.path.join(place, "train.npz")) for place in (recorded, folder))
        before = expected.get("losses_reloaded", expected["losses"])
        off["losses"] = keras2.compare_losses(got["losses_reloaded"], before, case.description["loss_tolerance"], slice(None))
    return [f"{name}: {error:.3g} times the tolerance" for name, error in off.items() if not error <= 1], len(off), max(off.values())


def new_case(arguments):
    """The folder of a case that has only its model and its data yet."""
    kind, name = arguments.new.split("/")
    if kind not in selection.KINDS or not arguments.model or not arguments.data:
        raise SystemExit("record: error: --new KIND/CASE takes a kind of the fixtures, --model FILE.keras and --data FILE.npz")
    folder = os.path.join(arguments.output, "new", kind, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    shutil.copy(arguments.model, os.path.join(folder, "model.keras"))
    shutil.copy(arguments.data, os.path.join(folder, "data.npz"))
    return folder


def keep(folder, recorded, fixtures, is_new):
    kind = "" if is_of_keras2(folder) else "keras"
    target = os.path.join(fixtures, kind, os.path.relpath(recorded, os.path.dirname(os.path.dirname(recorded))))
    if is_new:
        shutil.copytree(folder, target)
    shutil.copytree(recorded, target, dirs_exist_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="regular expressions")
    parser.add_argument("--build", default=os.path.join(places.ROOT, "build", "release"))
    parser.add_argument("--output", metavar="FOLDER", help="default: recorded/ in the build folder")
    parser.add_argument("--keras", default=KERAS, metavar="VERSION")
    parser.add_argument("--tensorflow", default=TENSORFLOW, metavar="VERSION")
    parser.add_argument("--new", metavar="KIND/CASE")
    parser.add_argument("--model", metavar="FILE")
    parser.add_argument("--data", metavar="FILE")
    parser.add_argument("--keep", action="store_true", help="replace what the fixtures hold")
    arguments = parser.parse_args()
    fixtures = os.environ.get("MPC_FIXTURES") or os.path.join(arguments.build, "fixtures")
    arguments.output = os.path.abspath(arguments.output or os.path.join(arguments.build, "recorded"))
    folders = [new_case(arguments)] if arguments.new else find_cases(fixtures, arguments.cases)
    if not folders:
        print(f"record: error: no case is called {' or '.join(arguments.cases) or 'nothing'}; expected patterns of KIND/CASE", file=sys.stderr)
        return 2
    failures = 0
    try:
        for of_keras2 in (False, True):
            chosen = [folder for folder in folders if is_of_keras2(folder) == of_keras2]
            if not chosen:
                continue
            if of_keras2:
                python = python_with(os.path.join(arguments.build, "keras2"), "tf_keras", "MPC_KERAS2_PYTHON", [f"tf_keras=={TF_KERAS}", f"tensorflow-cpu=={TENSORFLOW_2}"])
            else:
                name = "keras" if arguments.keras == KERAS else f"keras-{arguments.keras}"
                python = python_with(os.path.join(arguments.build, name), "keras", "MPC_KERAS_PYTHON" if arguments.keras == KERAS else "",
                                     [f"keras=={arguments.keras}", f"tensorflow-cpu=={arguments.tensorflow}", "scipy==1.17.1"])  # fmt: skip
            script = os.path.join(HERE, "recorder", "keras2.py" if of_keras2 else "keras3.py")
            subprocess.run([python, script, arguments.output, *chosen], env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
            for folder in chosen:
                kind, name = folder.split(os.sep)[-2:]
                recorded = os.path.join(arguments.output, kind, name)
                if not os.path.isdir(recorded):
                    failures += 1
                    print(f"FAIL  {kind}/{name}: was not recorded")
                elif arguments.new:
                    print(f"ok    {kind}/{name}: recorded")
                else:
                    lines, arrays, worst = compare(folder, recorded)
                    failures += bool(lines)
                    print(f"{'FAIL' if lines else 'ok  '}  {kind}/{name}: {arrays} arrays, at most {worst:.2g} of the tolerance off")
                    print("".join(f"      {line}\n" for line in lines[:8]), end="")
                if arguments.keep and os.path.isdir(recorded):
                    keep(folder, recorded, fixtures, arguments.new)
    except Unreachable as error:
        print(f"SKIPPED: {error}; nothing was recorded")
        return places.SKIPPED
    if arguments.keep:
        subprocess.run([os.path.join(HERE, "pack.sh"), fixtures], check=True)
    print(f"ran {len(folders)} tests")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
