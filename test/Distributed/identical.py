# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--deterministic-ranks: any number of ranks leaves the same bytes of weights, optimizer, loss scale,
metrics and statistics, with a last batch of fewer rows than parts and with an infinity on one rank, with
clipped gradients and with regularizers."""
import json
import pathlib
import shutil
import subprocess
import sys

import numpy

import launch
import models

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tensor_files  # noqa: E402

parser = launch.Arguments(pypi=True)
parser.add_argument("--parts", type=int, default=4)
parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--policies", nargs="+", default=["mixed_float16"])
parser.add_argument("--models", nargs="+", default=list(models.IDENTICAL))
parser.add_argument("--device", help="of mpc-run: cuda:0; MPC_COLLECTIVES in the environment says how ranks send")
parser.add_argument("--shard", action="store_true",
                    help="the model 'wide' also with parts of its variables on each rank")
arguments = parser.parse_args()

checks = launch.Checks()
check = checks.check
BATCH = 24
INFINITE_STEP = min(57, arguments.steps - 3)
LAST_ROWS = max(1, arguments.parts // 2 - 1)  # of the last batch: parts without rows

launchers = launch.of(arguments.pypi, most=1)


def write_data(name):
    """Rows for all steps. In one step the weight of one row is infinite."""
    rows = (arguments.steps - 1) * BATCH + LAST_ROWS
    models.write(arguments.work, rows, [name])
    path = arguments.work / f"{name}.npz"
    arrays = dict(numpy.load(path))
    weights = numpy.random.default_rng(8).uniform(0.5, 2, rows).astype(numpy.float32)
    weights[INFINITE_STEP * BATCH + BATCH - 2] = numpy.inf  # of the last rank
    numpy.savez(path, sample_weight=weights, **arrays)


def compiled(name, policy, *options):
    folder = arguments.work / "-".join([name, policy, *(option.strip("-") for option in options)])
    optimizer = arguments.work / f"{name}.optimizer.json"
    optimizer.write_text(json.dumps({"class_name": "Adam",
                                     "config": models.OPTIMIZERS.get(name, models.ADAM)}))  # fmt: skip
    result = subprocess.run(
        [arguments.bin / "mpcc", arguments.work / f"{name}.json", "-o", folder, "-q", "--distributed",
         f"--deterministic-ranks={arguments.parts}",
         *(["--target=cuda:source", "--march=x86-64-v2", "-O0"] if arguments.device else ["--march=native", "-O0"]),
         "--initialize=3", f"--policy={policy}", "--loss-scale=dynamic:1024:20",
         "--loss=sparse_categorical_crossentropy", f"--optimizer={optimizer}", "--metrics=accuracy",
         *options], capture_output=True, text=True)  # fmt: skip
    check(f"{name}, {policy}: compiles", result.returncode == 0, result.stderr)
    return folder


def trained(launcher, ranks, folder, name):
    """What a run saves: weights, and everything by a checkpoint."""
    save = arguments.work / "saved.safetensors"
    kept = arguments.work / "kept"
    save.unlink(missing_ok=True)
    shutil.rmtree(kept, ignore_errors=True)
    command = [arguments.bin / "mpc-run", "train", folder, "--data", arguments.work / f"{name}.npz",
               "--batch-size", BATCH, "--shuffle", "off", "--seed", "5", "--threads", "1",
               "--save", save, "--checkpoint", kept,
               *(["--device", arguments.device] if arguments.device else [])]  # fmt: skip
    if ranks == 1:  # the library says the same to the others
        command += ["--deterministic-ranks", arguments.parts]
    result = launcher.train(ranks, command)
    found = sorted(kept.glob("*.safetensors"))
    if not check(f"{folder.name}: trains on {ranks}, which leaves one checkpoint",
                 result.returncode == 0 and save.exists() and len(found) == 1,
                 launch.told(result, save, *found)):  # fmt: skip
        return None
    return save.read_bytes(), found[0].read_bytes(), tensor_files.read_safetensors(save)


alone = {}  # what one rank saves, by model and policy
if arguments.device:
    for launcher in launchers:
        launch.check_nccl(checks, launcher, arguments)
for name in arguments.models:
    write_data(name)
    for policy in arguments.policies:
        folder = compiled(name, policy)
        expected = trained(launchers[0], 1, folder, name)
        if not expected:
            continue
        alone[name, policy] = expected[0]
        if plain := alone.get((models.PLAIN.get(name), policy)):
            check(f"{folder.name}: it is not the training of {models.PLAIN[name]}", expected[0] != plain)
        check(f"{folder.name}: the infinity is skipped",
              all(numpy.isfinite(value).all() for value in expected[2].values()))  # fmt: skip
        if not arguments.device:
            calls = subprocess.run([launch.program(arguments, "mpc-test-parts"), folder], capture_output=True,
                                   text=True)  # fmt: skip
            check(f"{folder.name}: four calls are a step", calls.returncode == 0, calls.stderr)
        folders = [folder]
        if arguments.shard and name == "wide":
            folders.append(compiled(name, policy, "--shard=optimizer"))
        for launcher in launchers:
            for ranks in arguments.ranks:
                for folder in folders:
                    found = trained(launcher, ranks, folder, name)
                    check(f"{folder.name}: {ranks} ranks of {launcher.name} leave the same bytes",
                          found is not None and found[:2] == expected[:2])  # fmt: skip

print(f"{arguments.models}, {arguments.policies}, {arguments.ranks} ranks, {arguments.steps} steps, "
      f"{[launcher.name for launcher in launchers]}")  # fmt: skip
checks.end()
