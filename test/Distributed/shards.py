# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--shard=optimizer: the bytes of a run without it, with less memory on each rank, whatever the
optimizer does with single elements; and what is refused, by name."""
import json
import re
import shutil
import subprocess

import numpy

import launch
import models

parser = launch.Arguments()
parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3])
parser.add_argument("--optimizers", nargs="+", help="of the table below; 'adam' is one of them")
arguments = parser.parse_args()

checks = launch.Checks()
check = checks.check
BATCH, STEPS = 24, 9

launcher = launch.of([])[0]
run = launcher.train

# Each does more with an element than the one before it: a slot, norms of all gradients, decay,
# averages that end as weights, sums over calls.
ADAM = {"learning_rate": 0.01}
OPTIMIZERS = {
    "momentum": ("SGD", {"learning_rate": 0.05, "momentum": 0.9}),
    "adam": ("Adam", ADAM),
    "clipped": ("Adam", {**ADAM, "global_clipnorm": 0.5}),
    "decayed": ("AdamW", {**ADAM, "weight_decay": 0.01, "clipvalue": 0.1}),
    "averaged": ("Adam", {**ADAM, "use_ema": True, "ema_momentum": 0.8,
                          "ema_overwrite_frequency": 4}),
    "accumulated": ("Adam", {**ADAM, "gradient_accumulation_steps": 2}),
}  # fmt: skip


def write_data():
    """In one step the weight of one row, which is of the last rank, is infinite."""
    rows = (STEPS - 1) * BATCH + 3
    models.write(arguments.work, rows, ["wide"])
    path = arguments.work / "wide.npz"
    arrays = dict(numpy.load(path))
    weights = numpy.random.default_rng(8).uniform(0.5, 2, rows).astype(numpy.float32)
    weights[5 * BATCH + BATCH - 2] = numpy.inf
    numpy.savez(path, sample_weight=weights, **arrays)
    weights[5 * BATCH + BATCH - 2] = 1
    numpy.savez(arguments.work / "finite.npz", sample_weight=weights, **arrays)


def mpcc(folder, optimizer, *options, model="wide"):
    path = arguments.work / f"{optimizer}.optimizer.json"
    kind, config = OPTIMIZERS.get(optimizer, (optimizer, ADAM))
    path.write_text(json.dumps({"class_name": kind, "config": config}))
    return subprocess.run(
        [arguments.bin / "mpcc", arguments.work / f"{model}.json", "-o", folder, "-q",
         "--distributed", "--march=native", "-O0", "--initialize=3",
         "--loss=sparse_categorical_crossentropy", f"--optimizer={path}", "--metrics=accuracy",
         *options], capture_output=True, text=True)  # fmt: skip


def compiled(optimizer, name, *options):
    folder = arguments.work / f"{optimizer}-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    result = mpcc(folder, optimizer, *options)
    check(f"{folder.name}: compiles", result.returncode == 0, result.stderr)
    return folder


def training(folder, *options, data="finite", epochs=1):
    return [arguments.bin / "mpc-run", "train", folder, "--data", arguments.work / f"{data}.npz",
            "--batch-size", BATCH, "--epochs", epochs, "--seed", 5, "--threads", 1,
            *options]  # fmt: skip


def trained(ranks, folder, *options, **how):
    """The bytes of what a run saves: weights, and everything by a checkpoint; and its messages."""
    save, kept = arguments.work / "saved.safetensors", arguments.work / "kept"
    save.unlink(missing_ok=True)
    shutil.rmtree(kept, ignore_errors=True)
    result = run(ranks, training(folder, "--save", save, "--checkpoint", kept, "--save-freq", 4,
                                 "--memory", *options, **how))  # fmt: skip
    found = sorted(kept.glob("*.safetensors"))
    if not check(f"{folder.name}: trains on {ranks}", result.returncode == 0 and save.exists()
                 and found, launch.told(result, save, *found)):  # fmt: skip
        return None, result.stderr
    return [save.read_bytes(), *(path.read_bytes() for path in found)], result.stderr


def planned(text):
    """The MB of variables that --memory plans."""
    found = re.search(r"variables ([0-9.]+), arena", text)
    return float(found.group(1)) if found else -1


write_data()

# Without --deterministic-ranks: as many ranks without parts of variables leave the same bytes.
for optimizer in arguments.optimizers or OPTIMIZERS:
    for policy in ("mixed_float16", "float32"):
        if policy == "float32" and optimizer not in ("adam", "averaged"):
            continue
        options = [f"--policy={policy}"]
        data = "finite"
        if policy == "mixed_float16":
            options.append("--loss-scale=dynamic:1024:4")
            data = "wide" if optimizer != "accumulated" else data
        whole = compiled(optimizer, f"{policy}-whole", *options)
        parts = compiled(optimizer, f"{policy}-parts", *options, "--shard=optimizer")
        for ranks in arguments.ranks:
            expected, all_memory = trained(ranks, whole, data=data)
            found, memory = trained(ranks, parts, data=data)
            check(f"{parts.name}: {ranks} ranks leave the bytes of whole variables",
                  expected and found == expected)  # fmt: skip
            check(f"{parts.name}: {ranks} ranks plan less memory",
                  0 <= planned(memory) < planned(all_memory), memory + all_memory)  # fmt: skip
        one, _ = trained(1, whole, data=data)
        found, _ = trained(1, parts, data=data)
        check(f"{parts.name}: one rank alone leaves the same, too", one and found == one)

# With it: the bytes of one rank, and checkpoints go from any number of ranks to any other.
whole = compiled("adam", "deterministic-whole", "--policy=mixed_bfloat16",
                 "--deterministic-ranks=4")  # fmt: skip
parts = compiled("adam", "deterministic-parts", "--policy=mixed_bfloat16",
                 "--deterministic-ranks=4", "--shard=optimizer")  # fmt: skip
expected, _ = trained(1, whole, "--deterministic-ranks=4", epochs=2)
for ranks in (2, 4):
    found, _ = trained(ranks, parts, epochs=2)
    check(f"{ranks} ranks with parts of a batch and of variables leave the bytes of one rank",
          expected and found == expected)  # fmt: skip
kept, save = arguments.work / "half", arguments.work / "resumed.safetensors"
shutil.rmtree(kept, ignore_errors=True)
half = run(4, training(parts, "--checkpoint", kept))
for ranks, folder in ((2, parts), (1, whole)):
    resumed = run(ranks, training(folder, "--resume", kept, "--save", save,
                                  "--deterministic-ranks=4", epochs=2))  # fmt: skip
    check(f"a checkpoint of four ranks goes on with {ranks} to the same bytes",
          resumed.returncode == 0 and expected and save.read_bytes() == expected[0],
          half.stderr + resumed.stderr)  # fmt: skip

# Messages that bring the copies of weights together: a step ends before they do.
explained = mpcc(arguments.work / "explained", "adam", "--policy=mixed_float16", "--shard=optimizer",
                 "--explain=passes")  # fmt: skip
gathers = re.search(r"(\d+) arrays of (\d+) bytes are gathered in (\d+) messages; (\d+) bytes go while the next "
                    r"step begins", explained.stdout + explained.stderr)  # fmt: skip
check("--explain=passes says what is gathered while the next step begins",
      gathers and 0 < int(gathers.group(4)) == int(gathers.group(2)),
      explained.stdout + explained.stderr)  # fmt: skip
events = arguments.work / "events.json"
traced = run(2, training(arguments.work / "adam-mixed_float16-parts", "--trace-events", events))
timeline = json.loads(events.read_text())["traceEvents"] if events.exists() else []
sizes = {rank: [event["args"]["bytes"] for event in timeline
                if event["name"] == "gather" and event["pid"] == rank] for rank in (0, 1)}  # fmt: skip
check("a timeline has the gathers of each step", gathers and all(
    len(of) == STEPS * int(gathers.group(3)) and sum(of) == STEPS * int(gathers.group(2)) for of in sizes.values()),
    f"{sizes} {traced.stderr}")  # fmt: skip

# Callbacks that read weights at the ends of epochs.
stopped = {}
for name in ("whole", "parts"):
    stopped[name], said = trained(2, arguments.work / f"adam-mixed_float16-{name}", "--early-stop",
                                  "monitor=loss,patience=1,restore_best_weights=true", epochs=3)  # fmt: skip
check("the best weights are the same", stopped["whole"] and stopped["whole"] == stopped["parts"])

# A layout map says which variables are in parts.
layout = arguments.work / "layout.json"
layout.write_text(json.dumps({"d1/kernel": [None, "batch"], "d0/.*": [None]}))
refused = mpcc(arguments.work / "refused", "adam", f"--shard=optimizer:{layout}")
check("a layout of other dimensions is refused", refused.returncode == 1
      and "'d0/.*' has a layout of 1 dimensions, but 'd0/kernel' has 2" in refused.stderr,
      refused.stderr)  # fmt: skip
layout.write_text(json.dumps({"d1/kernel": [None, "batch"], "nothing": [None]}))
refused = mpcc(arguments.work / "refused", "adam", f"--shard=optimizer:{layout}")
check("a key of no path is refused", refused.returncode == 1
      and "'nothing' is the path of no variable that trains" in refused.stderr,
      refused.stderr)  # fmt: skip
layout.write_text(json.dumps({"d1/kernel": [None, "batch"], "d0/kernel": [None, None]}))
one = compiled("adam", "layout", "--policy=mixed_float16", "--loss-scale=dynamic:1024:4",
               f"--shard=optimizer:{layout}")  # fmt: skip
expected, most = trained(2, arguments.work / "adam-mixed_float16-whole", data="wide")
_, least = trained(2, arguments.work / "adam-mixed_float16-parts", data="wide")
found, some = trained(2, one, data="wide")
check("a layout map leaves the same bytes", expected and found == expected)
check("a layout map is between nothing and all", planned(least) < planned(some) < planned(most),
      least + some + most)  # fmt: skip

# Programs: a context with a communicator from its creation on, and variables that are gathered.
program = launch.program(arguments, "mpc-test-gather")
for ranks in arguments.ranks:
    states = {}
    for name in ("whole", "parts"):
        state = arguments.work / f"gathered-{name}.safetensors"
        state.unlink(missing_ok=True)
        # A library that was compiled whole has no variable in parts to read.
        folder = arguments.work / f"adam-mixed_float16-{name}"
        result = run(ranks, [program, folder, 2 * ranks + 1, state, name])
        check(f"{ranks} ranks of a C++ program gather ({name})", result.returncode == 0
              and (name == "whole" or f"is whole on {ranks} ranks" in result.stdout),
              result.stdout + result.stderr)  # fmt: skip
        states[name] = state.read_bytes() if state.exists() else name
    check(f"{ranks} ranks of a C++ program save the bytes of whole variables",
          states["whole"] == states["parts"])  # fmt: skip

# Optimizers and options that need whole variables.
for optimizer in ("Lamb", "Adafactor"):
    refused = mpcc(arguments.work / "refused", optimizer, "--shard=optimizer")
    check(f"{optimizer} is refused", refused.returncode == 1
          and ":d0: --shard=optimizer: no update of a variable can be shared by ranks; the optimizer "
          "reads the whole" in refused.stderr, refused.stderr)  # fmt: skip
traced = run(2, training(arguments.work / "adam-mixed_float16-parts", "--trace",
                         arguments.work / "trace.npz", "--steps", 3))  # fmt: skip
check("a trace is refused", traced.returncode != 0
      and "--trace: reads whole variables" in traced.stderr, traced.stderr)  # fmt: skip
device = mpcc(arguments.work / "refused", "adam", "--shard=optimizer", "--target=cuda:source")
check("GPUs have no parts of variables", device.returncode == 2
      and "--shard: ranks share the memory of CPUs" in device.stderr, device.stderr)  # fmt: skip
usage = mpcc(arguments.work / "refused", "adam", "--shard=weights")
check("only the optimizer is in parts", usage.returncode == 2
      and "--shard" in usage.stderr, usage.stderr)  # fmt: skip

checks.end()
