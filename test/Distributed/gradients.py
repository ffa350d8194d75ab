# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--gradient-dtype=bfloat16: half of the bytes between ranks, an error that is measured beside float32,
equal bytes whatever else is divided among ranks."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy

import launch
import models

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tensor_files  # noqa: E402

arguments = launch.Arguments().parse_args()

checks = launch.Checks()
check = checks.check
BATCH, STEPS = 24, 8
NAMES = ["wide", "cnn", "lstm", "transformer"]
# Plain descent, so that errors of weights are errors of gradients; clipped, since a norm reads them, too.
SGD = {"class_name": "SGD", "config": {"learning_rate": 0.05, "momentum": 0.9, "global_clipnorm": 5.0}}

launcher = launch.of([])[0]
models.write(arguments.work, BATCH * (STEPS - 1) + 3, NAMES)  # the last batch has three rows
optimizer = arguments.work / "sgd.json"
optimizer.write_text(json.dumps(SGD))


def mpcc(name, folder, *options):
    return subprocess.run(
        [arguments.bin / "mpcc", arguments.work / f"{name}.json", "-o", arguments.work / folder, "-q",
         "--distributed", "--march=native", "-O0", "--initialize=3",
         "--loss=sparse_categorical_crossentropy", f"--optimizer={optimizer}", *options],
        capture_output=True, text=True)  # fmt: skip


def compiled(name, folder, *options):
    result = mpcc(name, folder, *options)
    check(f"{folder} compiles", result.returncode == 0, result.stderr)
    return arguments.work / folder


def trained(ranks, folder, name, *options):
    """The bytes of what a run saves, its weights, and its messages."""
    save, kept = arguments.work / "saved.safetensors", arguments.work / "kept"
    save.unlink(missing_ok=True)
    shutil.rmtree(kept, ignore_errors=True)
    result = launcher.train(ranks, [
        arguments.bin / "mpc-run", "train", folder, "--data", arguments.work / f"{name}.npz",
        "--batch-size", BATCH, "--epochs", 2, "--seed", 5, "--threads", 1, "--save", save,
        "--checkpoint", kept, "--trace-events", arguments.work / "events.json", *options])  # fmt: skip
    found = sorted(kept.glob("*.safetensors"))
    if not check(f"{folder.name}: trains on {ranks}", result.returncode == 0 and save.exists() and found,
                 launch.told(result, save, *found)):  # fmt: skip
        checks.end()
    return ([save.read_bytes(), *(path.read_bytes() for path in found)],
            tensor_files.read_safetensors(save), result.stderr)  # fmt: skip


def sent(said):
    found = re.search(r"messages of (\d+) kB", said)
    return int(found.group(1)) if found else -1


def distance(found, expected, begin):
    """How far weights are from others, relative to how far these have come."""
    off = come = 0.0
    for key, value in expected.items():
        if key.startswith("optimizer/"):
            continue
        value = numpy.asarray(value, numpy.float64)
        off += float(numpy.sum((numpy.asarray(found[key], numpy.float64) - value) ** 2))
        come += float(numpy.sum((numpy.asarray(begin[key], numpy.float64) - value) ** 2))
    return (off / come) ** 0.5


errors = []
for name in NAMES:
    for policy in ("float32", "mixed_float16") if name == "wide" else ("mixed_bfloat16",):
        options = [f"--policy={policy}"]
        wide = compiled(name, f"{name}-{policy}-wide", *options)
        narrow = compiled(name, f"{name}-{policy}-narrow", *options, "--gradient-dtype=bfloat16")
        still = compiled(name, f"{name}-{policy}-still", *options, "--learning-rate=1e-30")
        _, begin, _ = trained(1, still, name)
        alone, _, _ = trained(1, wide, name)
        own, _, _ = trained(1, narrow, name)
        check(f"{narrow.name}: one rank alone rounds nothing", own == alone)
        for ranks in (2, 3):
            _, expected, said = trained(ranks, wide, name)
            once, found, shown = trained(ranks, narrow, name)
            again, _, _ = trained(ranks, narrow, name)
            check(f"{narrow.name}: {ranks} ranks repeat", once == again)
            # The first step's weights say how far a gradient is off; later ones what becomes of it.
            first = distance(*(trained(ranks, folder, name, "--steps", 1)[1]
                               for folder in (narrow, wide)), begin)  # fmt: skip
            last = distance(found, expected, begin)
            errors.append((first, last))
            check(f"{narrow.name}: {ranks} ranks have near the gradients of float32", 0 < first < 0.01,
                  f"{first}")  # fmt: skip
            check(f"{narrow.name}: {ranks} ranks come near the weights of float32", 0 < last < 0.05,
                  f"{last}")  # fmt: skip
            changed = re.search(r"; bfloat16 changed what was sent by up to ([0-9.]+) %", shown)
            check(f"{narrow.name}: {ranks} ranks say what it costs",
                  changed and 0.05 < float(changed.group(1)) < 0.4, shown)  # fmt: skip
            check(f"{narrow.name}: {ranks} ranks send less",
                  0 < sent(shown) < sent(said) * (0.52 if name == "wide" else 0.95),
                  f"{sent(shown)} kB, {sent(said)} kB")  # fmt: skip
print("off by up to {:.2%} of a gradient, and by up to {:.2%} of the way of the weights in "
      "{} steps".format(*map(max, zip(*errors)), 2 * STEPS))  # fmt: skip

# Parts of a batch: the sums are rounded where parts meet, whoever computes them.
narrow = compiled("cnn", "parts", "--policy=mixed_float16", "--gradient-dtype=bfloat16",
                  "--deterministic-ranks=4")  # fmt: skip
expected, _, _ = trained(1, narrow, "cnn", "--deterministic-ranks=4")
exact, _, _ = trained(1, compiled("cnn", "exact", "--policy=mixed_float16"), "cnn",
                      "--deterministic-ranks=4")  # fmt: skip
check("parts of one rank round as ranks do", expected != exact)
for ranks in (2, 4):
    found, _, _ = trained(ranks, narrow, "cnn")
    check(f"{ranks} ranks leave the bytes of one with as many parts", found == expected)

# Parts of variables: a rank's part of a sum is rounded like the whole.
for ranks in (2, 3):
    whole, _, _ = trained(ranks, arguments.work / "wide-mixed_float16-narrow", "wide")
    partly = compiled("wide", "partly", "--policy=mixed_float16", "--gradient-dtype=bfloat16",
                      "--shard=optimizer")  # fmt: skip
    found, _, _ = trained(ranks, partly, "wide")
    check(f"{ranks} ranks with parts of variables leave the same bytes", found == whole)

explained = mpcc("cnn", "explained", "--policy=mixed_float16", "--gradient-dtype=bfloat16",
                 "--explain=passes")  # fmt: skip
check("--explain=passes says what it costs", re.search(
    r"\d+ gradients of \d+ bytes go between ranks in bfloat16: half of the bytes, and an error of at "
    r"most \(log2\(ranks\) \+ 1\) / 256", explained.stdout + explained.stderr),
    explained.stdout + explained.stderr)  # fmt: skip
refused = mpcc("wide", "refused", "--policy=float64", "--gradient-dtype=bfloat16")
check("gradients of float64 are refused", refused.returncode == 1
      and "no gradient goes between ranks in float32" in refused.stderr, refused.stderr)  # fmt: skip

checks.end()
