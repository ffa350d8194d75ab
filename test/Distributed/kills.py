# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A random rank is killed: while the job starts, at a random step, and while a checkpoint or the weights are
saved. The job ends in time and says who it was, leaves no half file, and on fewer ranks it goes on to the
bytes of a run that nobody killed."""
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

import killed_job
import launch
import models

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tensor_files  # noqa: E402

parser = launch.Arguments(pypi=True)
parser.add_argument("--kills", type=int, default=30, help="at random steps; of the other kinds there are fewer")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--steps", type=int, default=60, help="of each of the three epochs")
parser.add_argument("--model", default="cnn")
parser.add_argument("--device", help="of mpc-run: cuda:0; MPC_COLLECTIVES in the environment says how ranks send")
arguments = parser.parse_args()

checks = launch.Checks()
check = checks.check
RANKS, STEPS, EPOCHS, BATCH = 4, arguments.steps, 3, 96
LAST, EVERY = EPOCHS * STEPS, 5  # a checkpoint
SECONDS = 30  # in which a job has to end
TRIES = 20  # of a kill, each of which may come too late

launchers = launch.of(arguments.pypi)
work = arguments.work.resolve()

models.write(work, STEPS * BATCH, [arguments.model])
model = work / "model"
shutil.rmtree(model, ignore_errors=True)
subprocess.run([arguments.bin / "mpcc", work / f"{arguments.model}.json", "-o", model, "-q", "--distributed",
                *(["--target=cuda:source", "--march=x86-64-v2", "-O0"] if arguments.device else ["--march=native", "-O0"]),
                "--initialize=3", "--policy=mixed_float16",
                "--loss=sparse_categorical_crossentropy", "--optimizer=adam"], check=True)  # fmt: skip
kept, saved, pids = work / "kept", work / "saved.safetensors", work / "pids"


def training(*options):
    return [str(part) for part in (
        arguments.bin / "mpc-run", "train", model, "--data", work / f"{arguments.model}.npz",
        "--batch-size", BATCH, "--epochs", EPOCHS, "--seed", 5, "--threads", 1, "--save", saved,
        "--checkpoint", kept, "--save-freq", EVERY, "--keep", 3, "--deterministic-ranks", RANKS,
        *(["--device", arguments.device] if arguments.device else []), *options)]  # fmt: skip


def steps_done():
    """Of the newest checkpoint; 0 without one."""
    return max(map(killed_job.steps_of, kept.glob("checkpoint-*.safetensors")), default=0)


def have_met():
    """Whether ranks have agreed to train: then the first one makes the folder."""
    return kept.exists()


shutil.rmtree(kept, ignore_errors=True)
subprocess.run(training(), check=True, capture_output=True)
expected = saved.read_bytes()
chance = random.Random(arguments.seed)


class Kill:
    """Of `rank`, once the job is at `step`, after a pause."""

    name = "at a step"
    is_early = False  # before ranks have met
    preloaded = None

    def __init__(self, step=None, pause=0.02):
        self.rank, self.pause = chance.randrange(RANKS), chance.random() * pause
        self.step = chance.randrange(LAST - 30) if step is None else step

    def __str__(self):
        return f"{self.name} (rank {self.rank}, from step {self.step})"

    def is_due(self, _):
        return have_met() and steps_done() + EVERY > self.step

    def lands(self, _):
        """Whether steps are left, now that the first rank stands still: no other one is further than its next step."""
        return steps_done() <= LAST - 2 * EVERY and not saved.exists()

    def may_have_saved(self):
        return False

    def is_told(self, shown, job):
        """Whether the launcher says who it was."""
        line = " ".join(shown.split())  # Open MPI 5 breaks it
        return (re.search(rf"NCCL: the connection is lost to rank {self.rank} on \S+:", line)
                or re.search(rf"process rank {self.rank} with PID \d+ on node \S+ exited on signal 9", line)
                # MPICH says which process and where; it may be one of those that it then ends itself.
                or re.search(rf"PID ({'|'.join(map(str, map(job.pid, job.begun())))}) RUNNING AT \S+ = (KILLED BY SIGNAL|EXIT CODE): 9", line))  # fmt: skip


class AtTheStart(Kill):
    """While processes start and find each other."""

    name = "at the start"

    def __init__(self):
        super().__init__(step=0, pause=0.5)

    def is_due(self, _):
        return True

    def lands(self, job):
        self.is_early = not have_met()
        return super().lands(job)

    def is_told(self, shown, job):
        """Before ranks have met there is the launcher alone. Open MPI 4 leaves the name out where it hears of the end
        of a process before its daemons have said that all are started. Open MPI 5 may say no more than that a
        connection to one is lost."""
        line = " ".join(shown.split())
        unnamed = re.search("1 process returned a non-zero exit code|PMIX_ERR_UNREACH", line)
        return super().is_told(shown, job) or self.is_early and unnamed


class InFile(Kill):
    """While a file is saved, which takes long enough to be seen."""

    preloaded = launch.program(arguments, "libmpc_slow_disk.so").resolve()


class InCheckpoint(InFile):
    name = "in a checkpoint"

    def __init__(self):
        super().__init__(pause=0)

    def is_due(self, job):
        return super().is_due(job) and job.saves(kept)

    def lands(self, job):
        return job.saves(kept)


class InWeights(InFile):
    name = "in the weights"

    def __init__(self):
        super().__init__(step=LAST, pause=0)

    def is_due(self, job):
        return job.saves(work)

    def lands(self, job):
        return job.saves(work) and not job.has_ended(self.rank)

    def may_have_saved(self):
        return self.rank != 0  # the launcher lets the others end first


def killed(launcher, kill):
    """The job, with the rank killed at its time. A job that was faster is over; there is another one then."""
    for _ in range(TRIES):
        for folder in (kept, pids):
            shutil.rmtree(folder, ignore_errors=True)
        saved.unlink(missing_ok=True)
        job = killed_job.Job(launcher, RANKS, training(), pids, kill.preloaded)
        killed_job.wait_for(lambda: job.is_over() or (job.has_begun() and kill.is_due(job)))
        time.sleep(kill.pause)
        if job.has_begun() and job.stop_first() and kill.lands(job):
            job.kill(kill.rank)
            job.go_on()
            return job
        has_begun = job.has_begun()
        if has_begun:
            job.go_on()
        shown, left = job.end(seconds=600)  # it has its work to do
        if not has_begun:
            print(f"{launcher.name} started no ranks:\n{shown}", file=sys.stderr)
        elif not check(f"{launcher.name}: a job that nobody killed ends well",
                       job.process.returncode == 0 and not left and saved.exists() and saved.read_bytes() == expected,
                       shown):
            return None
    return None


def is_whole(path):
    try:
        return bool(tensor_files.read_safetensors(path))
    except (ValueError, KeyError):
        return False


def check_kill(launcher, kill):
    what = f"{launcher.name}: kill {kill}"
    job = killed(launcher, kill)
    if not check(f"{what}: comes in time", job):
        return
    begin = time.monotonic()
    check(f"{what}: all ranks end in time", killed_job.wait_for(job.have_ranks_ended, SECONDS))
    shown, left = job.end()
    # Without any rank left, what started them may hang in PMIx: Open MPI's issue 7790.
    hangs = kill.is_early and job.goes_on and not left
    if hangs:
        print(f"{what}: the launcher hangs behind the end of all ranks", file=sys.stderr)
    check(f"{what}: ends in time",
          hangs or time.monotonic() - begin < SECONDS and job.process.returncode and not left,
          f"left: {left}\n{shown}")  # fmt: skip
    check(f"{what}: says who it was", hangs or kill.is_told(shown, job), shown)
    if kill.may_have_saved():
        check(f"{what}: saves whole weights or none", not saved.exists() or saved.read_bytes() == expected)
    else:
        check(f"{what}: saves no weights", not saved.exists())
    check(f"{what}: every checkpoint is whole", all(map(is_whole, kept.glob("checkpoint-*"))))
    fewer, step = chance.choice((1, 2)), steps_done()
    resumed = launcher.train(fewer, training(*(["--resume", kept] if step else [])))
    check(f"{what}: {fewer} ranks go on from step {step} to the same bytes",
          resumed.returncode == 0 and saved.read_bytes() == expected,
          resumed.stdout + resumed.stderr)  # fmt: skip


few = max(2, arguments.kills // 5)
for launcher in launchers:
    if arguments.device:
        launch.check_nccl(checks, launcher, arguments)
    for kind, count in ((Kill, arguments.kills), (AtTheStart, few), (InCheckpoint, few), (InWeights, few)):
        for _ in range(count):
            check_kill(launcher, kind())

checks.end()
