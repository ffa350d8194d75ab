#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets each call that a process makes fail once, as SQLite's tests do: the n-th malloc, thread, open,
read, write, fsync, rename, link and mmap of a small compilation, prediction, training with checkpoints,
resumption and save, for every n; of models that are a folder, one file, or linked into the program. Then
the process ends with 0 or with 1 and a message, by no signal and not by itself inside a library; each
file is the old one or the new one, whole; nothing else is left. Reads and writes that do half of what
they were asked for change nothing at all. mpcc's memory is sampled: it allocates hundreds of thousands of
times.
Usage: fault_injection.py BUILD [SCENARIO...]"""

import concurrent.futures
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test"))
import named_tests  # noqa: E402  pylint: disable=wrong-import-position

BLOBS = os.path.join(ROOT, "examples/c_predict/blobs.json")
KINDS = ["malloc", "thread", "open", "write", "fsync", "rename", "link", "mmap", "read", "short"]
# No message of ours says these.
FOREIGN = ["internal error", "LLVM ERROR", "terminate called", "libgomp", "please report", "Traceback"]


# libgomp ends the process where it gets no memory or no thread. Only products that oneDNN multiplies
# need it: the runtime asks for as much before, and gives it back; that the next call fails all the same,
# only this test brings about. These are counted, and may be a few.
UNAVOIDABLE = ["libgomp: Out of memory allocating", "libgomp: Thread creation failed"]
MOST_UNAVOIDABLE = 0.005  # of the faults


class Wrong(Exception):
    pass


def read_files(folder):
    """Every file below a folder."""
    files = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as handle:
                files[os.path.relpath(path, folder)] = handle.read()
    return files


class Scenario:
    """A command that works in a folder. `old` are the files before; `new` after success; `between`
    the contents that a file may have besides, of an epoch that was not the last. Files of `group` are
    all old or all new."""

    def __init__(self, name, command, old, between=None, group=False, logs=()):
        self.name, self.command, self.old, self.group, self.logs = name, command, old, group, logs
        self.between = between or {}
        self.new, self.unavoidable = {}, []


class Suite:
    def __init__(self, build, work):
        self.work = work
        self.binaries = os.path.join(build, "bin")
        self.preload = os.path.join(build, "test/bin/libmpc_fault_injection.so")
        self.host = os.path.join(build, "test/bin/mpc_fault_host")
        self.static_runtime = os.path.join(build, "lib/libmpcrt.a")
        self.model = os.path.join(work, "small.json")
        with open(BLOBS) as handle, open(self.model, "w") as target:
            architecture = json.load(handle)
            for layer in architecture["config"]["layers"][:-1]:
                if "units" in layer["config"]:
                    layer["config"]["units"] = 2
            json.dump(architecture, target)
        self.library = os.path.join(work, "small.mpc")
        self.compile("--initialize=3", self.library)
        draw = np.random.default_rng(1)
        self.data = os.path.join(work, "data.npz")
        np.savez(self.data, x0=draw.normal(size=(8, 4)).astype(np.float32), y0=draw.integers(0, 3, 8).astype(np.int32))

    def tool(self, name):
        return os.path.join(self.binaries, name)

    def compile(self, seed, folder, *options):
        subprocess.run([self.tool("mpcc"), self.model, "-q", "--name=net", seed, *options, "-o", folder], check=True)

    def train(self, *more):
        return [self.tool("mpc-run"), "train", self.library, "--data", self.data, "--batch-size=4", "--threads=2",
                "--seed=1", *more]  # fmt: skip

    # ---- One run -------------------------------------------------------------------------------

    def run(self, scenario, fault):
        """Exit status, messages, the files afterwards, and how often each kind was called."""
        with tempfile.TemporaryDirectory(dir=self.work) as place:
            folder, scratch, counts = [os.path.join(place, name) for name in ("files", "scratch", "counts")]
            os.mkdir(folder)
            os.mkdir(scratch)
            for path, content in scenario.old.items():
                os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
                with open(os.path.join(folder, path), "wb") as handle:
                    handle.write(content)
            environment = dict(os.environ, LD_PRELOAD=self.preload, MPC_FAULT=fault, MPC_FAULT_COUNTS=counts,
                               TMPDIR=scratch)  # fmt: skip
            result = subprocess.run(scenario.command, cwd=folder, env=environment, capture_output=True, text=True,
                                    errors="replace", timeout=300, check=False)  # fmt: skip
            with open(counts, "rb") as handle:
                numbers = struct.unpack(f"{len(KINDS)}Q", handle.read())
            if os.listdir(scratch):
                raise Wrong(f"{fault}: left in TMPDIR: {os.listdir(scratch)}")
            return result.returncode, result.stderr, read_files(folder), dict(zip(KINDS, numbers))

    def judge(self, scenario, fault):
        code, messages, files, _ = self.run(scenario, fault)
        if any(text in messages for text in UNAVOIDABLE):
            scenario.unavoidable.append(fault)
            return 1
        shown = f"{fault}: exit {code}: {messages[-400:]}"
        if code not in (0, 1) or (code == 1 and "error: " not in messages):
            raise Wrong(shown)
        if code and fault.startswith("short"):
            raise Wrong(shown)
        if any(word in messages for word in FOREIGN):
            raise Wrong(shown)
        for path in set(files) | set(scenario.old):
            allowed = [known[path] for known in (scenario.old, scenario.new) if path in known]
            allowed += scenario.between.get(path, [])
            if path not in files:
                if path in scenario.new:  # else it is one that is removed
                    raise Wrong(f"{path} is lost; {shown}")
            elif files[path] not in allowed:
                raise Wrong(f"{path} is neither the old nor the new one ({len(files[path])} bytes); {shown}")
        wanted = {path: content for path, content in scenario.new.items() if path not in scenario.logs}
        if code == 0 and any(files.get(path) != content for path, content in wanted.items()):
            raise Wrong(f"success, but not the new files; {shown}")
        # Where no file can be renamed any more, none gets its old name back.
        isForGood = fault.startswith("rename") and fault.endswith("+")
        if scenario.group and not isForGood and files != scenario.old and files != scenario.new:
            raise Wrong(f"some files are old, others new; {shown}")
        return code

    def inject(self, scenario, sample):
        """`sample(kind, count)` gives the numbers of the calls that fail."""
        code, messages, scenario.new, counts = self.run(scenario, "malloc:0")
        if code != 0:
            raise Wrong(f"without a fault: exit {code}: {messages}")
        # Memory that is full stays so for a while; a seventh of the places is enough to see that.
        faults = [f"{kind}:{number}{onward}" for kind in KINDS for number in sample(kind, counts[kind])
                  for onward in ("", "+") if not onward or kind != "malloc" or number % 7 == 0]  # fmt: skip
        failures, refused = [], 0

        def attempt(fault):
            try:
                return self.judge(scenario, fault)
            except (Wrong, subprocess.TimeoutExpired) as wrong:
                failures.append(f"{scenario.name}: {wrong}")
                return 0

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            refused = sum(pool.map(attempt, faults))
        if len(scenario.unavoidable) > max(2, MOST_UNAVOIDABLE * len(faults)):
            failures.append(f"{scenario.name}: libgomp ended the process at {scenario.unavoidable}")
        if failures:
            for failure in sorted(failures)[: int(os.environ.get("MPC_FAULTS_SHOWN", "20"))]:
                print(failure, file=sys.stderr)
            raise Wrong(f"{len(failures)} of {len(faults)} faults")
        made = ", ".join(f"{kind} {count}" for kind, count in counts.items())
        return f"calls: {made}; {len(faults)} faults, {refused} refused, {len(scenario.unavoidable)} in libgomp"

    @staticmethod
    def every(kind, count):
        return range(1, count + 1)

    @staticmethod
    def sampled(kind, count):
        """Of memory: each of the first calls, then ever fewer, at random places."""
        if kind != "malloc":
            return range(1, count + 1)
        draw = random.Random(6)
        return sorted(set(range(1, min(count, 40) + 1)) | {draw.randrange(count) + 1 for _ in range(160)})

    @staticmethod
    def thinned(kind, count):
        """Where the way to the result is that of a scenario before: fewer of memory's."""
        if kind != "malloc":
            return range(1, count + 1)
        draw = random.Random(7)
        return sorted({draw.randrange(count) + 1 for _ in range(60)})

    # ---- Scenarios -----------------------------------------------------------------------------

    def test_predict(self):
        command = [self.tool("mpc-run"), "predict", self.library, "--inputs", self.data, "--outputs", "out.npz",
                   "--threads=2"]  # fmt: skip
        return self.inject(Scenario("predict", command, {"out.npz": b"old"}), self.every)

    def test_train(self):
        command = self.train("--epochs=2", "--checkpoint=kept", "--keep=1", "--save=w.safetensors", "--csv-log=l.csv",
                             "--json-log=l.json", "--trace=t.npz")  # fmt: skip
        # The contents after the first epoch.
        first = Scenario("first", self.train("--epochs=1", "--checkpoint=kept", "--csv-log=l.csv", "--json-log=l.json"), {})
        _, _, files, _ = self.run(first, "malloc:0")
        # A checkpoint that was not removed in time.
        between = {path: [content] for path, content in files.items()}
        old = {"w.safetensors": b"old", "t.npz": b"old"}
        return self.inject(Scenario("train", command, old, between, logs=("l.csv", "l.json")), self.every)

    def test_resume(self):
        first = Scenario("first", self.train("--epochs=1", "--checkpoint=kept"), {})
        _, _, old, _ = self.run(first, "malloc:0")
        command = self.train("--epochs=2", "--checkpoint=kept", "--resume=kept", "--save=w.safetensors")
        return self.inject(Scenario("resume", command, old), self.every)

    def test_reports(self):
        """What commands print as JSON."""
        commands = [["inspect", self.library, "--json"], ["devices", "--json"],
                    ["evaluate", self.library, "--data", self.data, "--json"],
                    ["bench", self.library, "--steps=1", "--json", "--threads=1"]]  # fmt: skip
        for words in commands:
            self.inject(Scenario(words[0], [self.tool("mpc-run"), *words], {}), self.every)
        return f"{len(commands)} commands"

    def test_host(self):
        """A program of its own, which nothing may end."""
        return self.inject(Scenario("host", [self.host, self.library, "state"], {"state": b"old"}), self.every)

    def test_host_of_an_archive(self):
        one = os.path.join(self.work, "one.mpc")
        self.compile("--initialize=3", one, "--emit=archive")
        return self.inject(Scenario("host", [self.host, one, "state"], {"state": b"old"}), self.every)

    def test_host_with_the_model_in_it(self):
        """A program of libnet.a, libmpcrt.a and nothing else of ours."""
        folder, program = os.path.join(self.work, "static"), os.path.join(self.work, "linked")
        self.compile("--initialize=3", folder, "--link=static")
        subprocess.run(["cc", "-DMPC_FAULT_LINKED", "-O1", os.path.join(ROOT, "test/Faults/host.c"), "-I", folder, "-I", os.path.join(ROOT, "include"),
                        os.path.join(folder, "libnet.a"), self.static_runtime, "-lstdc++", "-lgomp", "-lm", "-ldl", "-lpthread",
                        "-o", program], check=True)  # fmt: skip
        return self.inject(Scenario("linked", [program, "none", "state"], {"state": b"old"}), self.every)

    def test_predict_of_an_archive(self):
        one = os.path.join(self.work, "predicted.mpc")
        self.compile("--initialize=3", one, "--emit=archive")
        command = [self.tool("mpc-run"), "predict", one, "--verify", "--inputs", self.data, "--outputs", "out.npz", "--threads=2"]
        return self.inject(Scenario("predict", command, {"out.npz": b"old"}), self.sampled)

    def compilation(self, folder, sample, *options):
        """Of a model whose files of an earlier compilation, with another seed, are there."""
        old = os.path.join(self.work, "old-" + folder + "-".join(options))
        self.compile("--initialize=4", old, *options)
        files = {os.path.join(folder, path): content for path, content in read_files(old).items()}
        if os.path.isfile(old):
            with open(old, "rb") as handle:
                files = {folder: handle.read()}
        command = [self.tool("mpcc"), self.model, "-q", "--name=net", "--initialize=3", "--march=native", *options, "-o", folder]
        return self.inject(Scenario("compile", command, files, group=True), sample)

    def test_compile(self):
        return self.compilation("net.mpc", self.sampled)

    def test_compile_to_an_archive(self):
        return self.compilation("net.mpc", self.thinned, "--emit=archive")

    def test_compile_to_a_static_library(self):
        return self.compilation("net", self.thinned, "--link=static")


def main():
    with tempfile.TemporaryDirectory(prefix="mpc-faults-") as work:
        suite = Suite(os.path.abspath(sys.argv[1]), work)
        tests = named_tests.methods(suite)
        if len(sys.argv) > 2:
            tests = {name: test for name, test in tests.items() if name.replace("test_", "") in sys.argv[2:]}
        return named_tests.run(tests)


if __name__ == "__main__":
    sys.exit(main())
