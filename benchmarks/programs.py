# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that take turns: children that speak the protocol of `mpc-run bench --serve`."""

import json
import os
import statistics
import subprocess
import time


class Program:
    """A child that speaks the protocol."""

    def __init__(self, name, command, environment=None):
        self.name, self.times = name, []
        self.child = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True, env={**os.environ, **(environment or {})})  # fmt: skip

    def expect(self, word):
        for line in self.child.stdout:
            if line.startswith(word + " "):
                return json.loads(line[len(word) :])
        raise RuntimeError(f"{self.name} ended with {self.child.wait()} before {word}")

    def go(self, steps):
        self.child.stdin.write(f"go {steps}\n")
        self.child.stdin.flush()
        return self.expect("TIMES")

    def quit(self):
        self.child.stdin.write("quit\n")
        self.child.stdin.flush()
        done = self.expect("DONE")
        self.child.wait()
        return done


def take_turns(programs, rounds, seconds, after_round=lambda: None):
    """Lets each run for `seconds`, `rounds` times, and appends the median of each turn to its times, in milliseconds. Calls
    `after_round` when all had their turn: what takes long between two turns would put these into different phases of the host."""
    for program in programs:
        program.expect("READY")
        first = statistics.median(program.go(2)) / 1e3
        program.steps = max(2, min(2000, int(seconds / max(first, 1e-6))))
    for turn in range(rounds):
        for program in programs[turn % len(programs) :] + programs[: turn % len(programs)]:
            time.sleep(0.3)  # until the threads of the one before are asleep
            program.times.append(statistics.median(program.go(program.steps)))
        after_round()
