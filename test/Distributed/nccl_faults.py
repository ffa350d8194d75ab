# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NCCL fails or hangs on one rank (MPC_FAKE_NCCL_FAULT of the software device): the communicator is aborted, the
message names the other rank and its host, and the job ends in time, also where ranks end by themselves."""
import re
import socket

import launch

parser = launch.Arguments(pypi=True)
arguments = parser.parse_args()
program = launch.program(arguments, "mpc-test-ranks")

checks = launch.Checks()
check = checks.check
launcher = launch.of(arguments.pypi)[0]
FAULTY, SECONDS = 1, 20
HOST = re.escape(socket.gethostname())
LOST = "remote process exited or there was a network error"
FAILED = "unhandled system error"
LATE = rf"rank [01] on {HOST} has not answered for \d+ seconds, says rank [01]"


def stops(what, error):
    return rf"NCCL: {what} rank 0 on {HOST}: {error}; rank {FAULTY} stops"


MESSAGES = {
    "send": stops("ncclSend to", FAILED),
    "receive": stops("ncclRecv from", FAILED),
    "end": stops("ncclGroupEnd with", FAILED),
    "ask": stops("ncclCommGetAsyncError with", FAILED),
    "lose": stops("the connection is lost to", LOST),
    "hang": LATE,
    "connect": LATE,
    "join": LATE,
}


def failing(kind, groups, *options):
    """A job of two ranks, and which of them have aborted."""
    log = arguments.work / "device.log"
    log.unlink(missing_ok=True)
    job = launcher.run(2, [program, *options], MPC_COLLECTIVES_TIMEOUT=2, MPC_FAKE_CUDA_LOG=log,
                       MPC_FAKE_NCCL_FAULT=f"{FAULTY} {kind} {groups}")  # fmt: skip
    aborted = re.findall(r"abort by rank (\d+)", log.read_text()) if log.exists() else []
    return job, set(map(int, aborted)), f"aborted: {aborted}\n{job.stdout}{job.stderr}"


plain, aborted, shown = failing("none", 0)
check("ranks send by NCCL, and nobody aborts", plain.returncode == 0 and "done over NCCL" in plain.stdout and not aborted, shown)
for kind, message in MESSAGES.items():
    for groups, options in ((0, ()), (0 if kind == "join" else 5, ("leave", "9"))):
        what = f"{kind} after {groups} groups {' '.join(options)}".strip()
        job, aborted, shown = failing(kind, groups, *options)
        check(f"{what}: the job ends in time", job.returncode != 0 and job.seconds < SECONDS
              and "done over" not in job.stdout, shown)  # fmt: skip
        # Both ranks of a message that does not go give up; who is first ends the job.
        check(f"{what}: the communicator is aborted", aborted if message == LATE else FAULTY in aborted, shown)
        # Where a rank leaves, nobody asks what it has found.
        check(f"{what}: rank and host are named", options or re.search(message, " ".join(shown.split())), shown)

checks.end()
