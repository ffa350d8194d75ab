# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc-run train on several ranks: the numbers of one process, equal runs with equal bytes, and what
is said where ranks differ or fail."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy

import launch
import models

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tensor_files  # noqa: E402

parser = launch.Arguments()
parser.add_argument("--models", nargs="+", default=list(models.MODELS))
parser.add_argument("--device", help="of mpc-run: cuda:0; MPC_COLLECTIVES in the environment says how ranks send")
arguments = parser.parse_args()

checks = launch.Checks()
check = checks.check


def compile_model(name, *options, folder=None):
    folder = arguments.work / (folder or name)
    result = subprocess.run(
        [arguments.bin / "mpcc", arguments.work / f"{name}.json", "-o", folder, "-q",
         *(["--target=cuda:source", "--march=x86-64-v2", "-O0"] if arguments.device else ["--march=native", "-O0"]),
         "--initialize=3", "--loss=sparse_categorical_crossentropy",
         "--optimizer=adam", "--learning-rate=0.01", "--metrics=accuracy", *options],
        capture_output=True, text=True)  # fmt: skip
    check(f"{name} compiles", result.returncode == 0, result.stderr)
    return folder


def training(folder, name, save, *options, batch=24, epochs=2):
    return [arguments.bin / "mpc-run", "train", folder, "--data", arguments.work / f"{name}.npz",
            "--batch-size", batch, "--epochs", epochs, "--seed", "5", "--threads", "1",
            "--save", save, *(["--device", arguments.device] if arguments.device else []), *options]  # fmt: skip


def error_of(expected, found):
    """The largest error of a variable, relative to its size."""
    expected, found = map(tensor_files.read_safetensors, (expected, found))
    if set(found) != set(expected):
        return float("inf")
    return max(
        float(numpy.max(numpy.abs(numpy.asarray(found[key], numpy.float64) - value)
                        / (1e-3 + numpy.abs(value))))
        for key, value in expected.items() if numpy.asarray(value).size)  # fmt: skip


launcher = launch.of([])[0]
run = launcher.train
models.write(arguments.work)
if arguments.device:
    launch.check_nccl(checks, launcher, arguments)

for name in arguments.models:
    alone = compile_model(name, folder=f"{name}-alone")
    shared = compile_model(name, "--distributed")
    weights = {}
    for what, folder, ranks in (("alone", alone, 1), ("1", shared, 1), ("2", shared, 2),
                                ("4", shared, 4), ("4 again", shared, 4)):  # fmt: skip
        save = arguments.work / f"{name}-{what.replace(' ', '-')}.safetensors"
        save.unlink(missing_ok=True)
        result = run(ranks, training(folder, name, save))
        if check(f"{name}: trains ({what})", result.returncode == 0 and save.exists(),
                 launch.told(result, save)):  # fmt: skip
            weights[what] = save
    if len(weights) != 5:
        continue
    check(f"{name}: equal runs have equal bytes",
          weights["4"].read_bytes() == weights["4 again"].read_bytes())  # fmt: skip
    for what in ("1", "2", "4"):
        worst = error_of(weights["alone"], weights[what])
        check(f"{name}: {what} ranks have the numbers of one process", worst < 2e-3,
              f"largest relative error {worst}")

mlp = arguments.work / "mlp"
out = arguments.work / "out.safetensors"
checkpoint = arguments.work / "checkpoint"
half = run(4, training(mlp, "mlp", out, "--checkpoint", checkpoint, epochs=1))
on_four = run(4, training(mlp, "mlp", out, "--resume", checkpoint))
check("a run of four ranks goes on to the same bytes",
      out.read_bytes() == (arguments.work / "mlp-4.safetensors").read_bytes(),
      half.stderr + on_four.stderr)  # fmt: skip
check("what is resumed is said once", on_four.stderr.count("resumed from") == 1, on_four.stderr)
on_two = run(2, training(mlp, "mlp", out, "--resume", checkpoint))
check("a checkpoint of four ranks goes on with two",
      error_of(arguments.work / "mlp-4.safetensors", out) < 2e-3, on_two.stderr)  # fmt: skip
refused = run(2, training(arguments.work / "mlp-alone", "mlp", out))
check("a library for one rank is refused",
      refused.returncode != 0 and "compile it with --distributed" in refused.stderr, refused.stderr)
few = {}
for ranks in (1, 4):  # 96 rows in batches of 31: the last batch has three
    few[ranks] = run(ranks, training(mlp, "mlp", arguments.work / f"few-{ranks}.safetensors", batch=31))
check("a rank may have no rows", few[4].returncode == 0
      and error_of(arguments.work / "few-1.safetensors",
                   arguments.work / "few-4.safetensors") < 2e-3,
      few[1].stderr + few[4].stderr)  # fmt: skip
arrays = dict(numpy.load(arguments.work / "mlp.npz"))
weights_of_rows = numpy.ones(len(arrays["x"]), numpy.float32)
weights_of_rows[47] = numpy.inf  # the last row of the second step, which is the last rank's
numpy.savez(arguments.work / "infinite.npz", sample_weight=weights_of_rows, **arrays)
scaled = compile_model("mlp", "--distributed", "--policy=mixed_float16", "--loss-scale=dynamic:1024:20", folder="scaled")
infinite = {ranks: run(ranks, training(scaled, "infinite", arguments.work / f"infinite-{ranks}.safetensors", "--shuffle",
                                       "off", epochs=1)) for ranks in (1, 4)}  # fmt: skip
files = [arguments.work / f"infinite-{ranks}.safetensors" for ranks in (1, 4)]
check("all ranks skip the step in which one has an infinity", not any(each.returncode for each in infinite.values())
      and all(numpy.isfinite(value).all() for value in tensor_files.read_safetensors(files[1]).values())
      and error_of(*files) < 2e-2, infinite[1].stderr + infinite[4].stderr)  # fmt: skip
parts = run(3, training(mlp, "mlp", out, "--deterministic-ranks=8"))
check("ranks that do not divide the parts are refused",
      parts.returncode != 0 and "3 ranks cannot share a batch in 8 parts" in parts.stderr,
      parts.stderr)  # fmt: skip
alone = run(1, training(arguments.work / "mlp-alone", "mlp", out, "--deterministic-ranks=8"))
check("parts want a library for ranks", alone.returncode != 0
      and "compile it with --distributed" in alone.stderr, alone.stderr)  # fmt: skip
script = arguments.work / "differ.sh"
script.write_text('#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && set -- "$@" --seed 6\n'
                  'exec "$@"\n')  # fmt: skip
script.chmod(0o755)
differ = run(2, [script, *training(mlp, "mlp", out)])
check("ranks with other options are refused, by name",
      differ.returncode != 0
      and "rank 1: the command line's options are not those of rank 0" in differ.stderr,
      differ.stderr)  # fmt: skip


def differing(replacement):
    """Rank 1 gets this in the place of what the other ranks get."""
    before, after = replacement
    command = [str(part) for part in training(mlp, "mlp", out)]
    other = [str(after) if part == str(before) else part for part in command]
    script.write_text('#!/bin/sh\nif [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ]; then\n  exec '
                      + " ".join(other) + "\nfi\nexec " + " ".join(command) + "\n")  # fmt: skip
    return run(2, [script])


events = arguments.work / "events.json"
traced = run(2, training(mlp, "mlp", out, "--trace-events", events))
timeline = json.loads(events.read_text())["traceEvents"] if events.exists() else []
shown = {(event["pid"], event["name"].split()[0]) for event in timeline if event["ph"] == "X"}
check("a timeline has steps, messages and waits of both ranks",
      shown == {(rank, kind) for rank in (0, 1) for kind in ("step", "message", "wait")}
      and all(event["dur"] >= 0 and event["ts"] >= 0 for event in timeline if event["ph"] == "X")
      and "% went while this rank computed" in traced.stderr, f"{shown} {traced.stderr}")  # fmt: skip

compile_model("mlp", "--distributed", "--numerics", folder="traced")
reports = arguments.work / "reports"
shutil.rmtree(reports, ignore_errors=True)
observed = run(2, training(arguments.work / "traced", "mlp", out, "--numerics", reports,
                           "--numerics-every=3"))  # fmt: skip
written = {path: [json.loads(file.read_text())["rows"] for file in sorted(path.glob("*.json"))]
           for path in (reports, reports / "rank-1")}  # fmt: skip
check("each rank reports the values of its rows, and training stays as it is",
      written == {reports: [12] * 3, reports / "rank-1": [12] * 3}
      and out.read_bytes() == (arguments.work / "mlp-2.safetensors").read_bytes(),
      f"{written} {observed.stderr}")  # fmt: skip

arrays = dict(numpy.load(arguments.work / "mlp.npz"))
arrays["x"] = arrays["x"][::-1]
numpy.savez(arguments.work / "other.npz", **arrays)
data = differing((arguments.work / "mlp.npz", arguments.work / "other.npz"))
check("a rank with other data is refused", data.returncode != 0
      and "rank 1: the data's rows are not those of rank 0" in data.stderr, data.stderr)  # fmt: skip
compile_model("mlp", "--distributed", "--policy=mixed_bfloat16", folder="other-policy")
library = differing((mlp, arguments.work / "other-policy"))
check("a rank with another library is refused", library.returncode != 0
      and "rank 1: the library's bytes are not those of rank 0" in library.stderr,
      library.stderr)  # fmt: skip
weights = differing(("--save", f"--weights={arguments.work / 'mlp-1.safetensors'} --save"))
check("a rank with other weights is refused", weights.returncode != 0
      and "rank 1: the weights and the checkpoint's steps are not those of rank 0" in weights.stderr,
      weights.stderr)  # fmt: skip

stopped = arguments.work / "stopped"
shutil.rmtree(stopped, ignore_errors=True)
pid = arguments.work / "pid"
pid.unlink(missing_ok=True)
script.write_text('#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && echo $$ > '
                  f'{pid}.new && mv {pid}.new {pid}\nexec "$@"\n')  # fmt: skip
job = launcher.start(2, [script, *training(mlp, "mlp", out, "--checkpoint", stopped,
                                           epochs=10**6)])  # fmt: skip
deadline = time.monotonic() + 60
while time.monotonic() < deadline and not (pid.exists() and any(stopped.glob("*.safetensors"))):
    time.sleep(0.05)
os.kill(int(pid.read_text()), signal.SIGTERM)
said = "".join(job.communicate(timeout=60))
resumed = run(2, training(mlp, "mlp", out, "--resume", stopped, epochs=1))
check("a rank that is asked to end ends all of them, with a checkpoint",
      "interrupted after step" in said and "go on with --resume" in said
      and resumed.returncode == 0, said + resumed.stderr)  # fmt: skip

checks.end()
