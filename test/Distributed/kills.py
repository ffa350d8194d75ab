# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A random rank is killed at a random step: the job ends in time and says who it was, and on fewer
ranks it goes on to the bytes of a run that nobody killed."""
import os
import random
import re
import shutil
import signal
import subprocess
import time

import launch
import models

parser = launch.Arguments(pypi=True)
parser.add_argument("--kills", type=int, default=30)
parser.add_argument("--seed", type=int, default=1)
arguments = parser.parse_args()

checks = launch.Checks()
check = checks.check
RANKS, STEPS, BATCH = 4, 60, 96
SECONDS = 30  # in which a job has to end

launchers = launch.of(arguments.pypi)

models.write(arguments.work, STEPS * BATCH, ["cnn"])
model = arguments.work / "model"
shutil.rmtree(model, ignore_errors=True)
subprocess.run([arguments.bin / "mpcc", arguments.work / "cnn.json", "-o", model, "-q",
                "--distributed", "--march=native", "--initialize=3", "--policy=mixed_float16",
                "--loss=sparse_categorical_crossentropy", "--optimizer=adam"], check=True)  # fmt: skip
kept, saved = arguments.work / "kept", arguments.work / "saved.safetensors"


def training(*options):
    return [str(part) for part in (
        arguments.bin / "mpc-run", "train", model, "--data", arguments.work / "cnn.npz",
        "--batch-size", BATCH, "--epochs", 3, "--seed", 5, "--threads", 1, "--save", saved,
        "--checkpoint", kept, "--save-freq", 5, "--keep", 3, "--deterministic-ranks", RANKS,
        *options)]  # fmt: skip


def steps_done():
    """Of the newest checkpoint; 0 without one."""
    numbers = [re.search(r"checkpoint-(\d+)\.safetensors$", path.name)
               for path in kept.glob("checkpoint-*")]  # fmt: skip
    return max([int(number.group(1)) for number in numbers if number], default=0)


def wait_for(holds):
    end = time.monotonic() + 60
    while not holds() and time.monotonic() < end:
        time.sleep(0.002)
    return holds()


shutil.rmtree(kept, ignore_errors=True)
subprocess.run(training(), check=True, capture_output=True)
expected = saved.read_bytes()
chance = random.Random(arguments.seed)
pids = arguments.work / "pids"
script = arguments.work / "rank.sh"
script.write_text(f'#!/bin/sh\necho $$ > {pids}/new-$$\n'
                  f'mv {pids}/new-$$ {pids}/${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}\n'
                  'exec "$@"\n')  # fmt: skip
script.chmod(0o755)


def check_kill(launcher, kill):
    rank, step = chance.randrange(RANKS), chance.randrange(3 * STEPS - 30)
    what = f"{launcher.name}: kill {kill} (rank {rank}, from step {step})"
    for folder in (kept, pids):
        shutil.rmtree(folder, ignore_errors=True)
    pids.mkdir()
    saved.unlink(missing_ok=True)
    job = launcher.start(RANKS, [script, *training()])
    wait_for(lambda: job.poll() is not None
             or (len(list(pids.glob("[0-9]"))) == RANKS and steps_done() + 5 > step))  # fmt: skip
    time.sleep(chance.random() * 0.02)
    begin = time.monotonic()
    os.kill(int((pids / str(rank)).read_text()), signal.SIGKILL)
    try:
        shown = "".join(job.communicate(timeout=60))
    except subprocess.TimeoutExpired:
        job.kill()
        shown = "it goes on"
    check(f"{what}: ends in time", time.monotonic() - begin < SECONDS and job.returncode, shown)
    line = " ".join(shown.split())  # Open MPI 5 breaks it
    names = (re.search(rf"process rank {rank} with PID \d+ on node \S+ exited on signal 9", line)
             # MPICH says which process and where.
             or re.search(r"PID \d+ RUNNING AT \S+ = (KILLED BY SIGNAL|EXIT CODE): 9", line))  # fmt: skip
    check(f"{what}: says who it was", names, shown)
    check(f"{what}: saves no weights", not saved.exists())
    fewer = chance.choice((1, 2))
    options = ["--resume", kept] if steps_done() else []
    resumed = launcher.train(fewer, training(*options))
    check(f"{what}: {fewer} ranks go on from step {steps_done()} to the same bytes",
          resumed.returncode == 0 and saved.read_bytes() == expected,
          resumed.stdout + resumed.stderr)  # fmt: skip


for launcher in launchers:
    for kill in range(arguments.kills):
        check_kill(launcher, kill)

checks.end()
