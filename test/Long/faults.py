#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files and processes that end at the worst moment: kill -9 while saving, a full disk at each byte of
a small state and at a hundred places of a large one, and compiled models, weights, manifests and
checkpoints that are cut off or have flipped bits, in folders and in archives. Nothing may be lost, nothing may crash: exit 1 and
a message, or the old file whole. Usage: faults.py BIN LIBMPCRT"""

import concurrent.futures
import glob
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CUSTOM_LOOP = os.path.join(ROOT, "test", "CustomLoop")
sys.path[:0] = [os.path.join(ROOT, "test"), CUSTOM_LOOP]
import named_tests  # noqa: E402  pylint: disable=wrong-import-position
import places  # noqa: E402  pylint: disable=wrong-import-position
from runtime import Context, Runtime  # noqa: E402  pylint: disable=wrong-import-position

SMALL = os.path.join(ROOT, "examples/c_predict/blobs.json")
LARGE = os.path.join(ROOT, "examples/mnist_mlp/model_256.keras")
WEIGHTED = places.fixtures("keras/train/mlp__mixed_float16/model.keras")
KILLS, PLACES = 100, 100


class Wrong(Exception):
    pass


def read(path):
    with open(path, "rb") as handle:
        return handle.read()


def write(path, content):
    with open(path, "wb") as handle:
        handle.write(content)


def only(pattern):
    (path,) = glob.glob(pattern)
    return path


class Suite:
    def __init__(self, binaries, library, work):
        self.tool, self.library, self.work = os.path.join(binaries, "mpc-run"), os.path.abspath(library), work
        self.small, self.large = os.path.join(work, "small.mpc"), os.path.join(work, "large.mpc")
        smallest = os.path.join(work, "smallest.json")
        with open(SMALL) as handle, open(smallest, "w") as target:
            architecture = json.load(handle)
            for layer in architecture["config"]["layers"][:-1]:
                if "units" in layer["config"]:
                    layer["config"]["units"] = 2
            json.dump(architecture, target)
        for folder, model, options in [(self.small, smallest, ["--initialize=3", "--optimizer=sgd"]), (self.large, LARGE, [])]:
            subprocess.run([os.path.join(binaries, "mpcc"), model, "-q", "--name=net", *options, "-o", folder], check=True)
        # Architectures bring no weights.
        self.weighted = os.path.join(work, "weighted.mpc")
        subprocess.run([os.path.join(binaries, "mpcc"), WEIGHTED, "-q", "--name=net", "-o", self.weighted], check=True)
        draw = np.random.default_rng(1)
        self.vectors = self.data("weighted.npz", draw.normal(size=(8, 10)).astype(np.float32), draw.integers(0, 4, 8))
        self.rows = self.data("small.npz", draw.normal(size=(8, 4)).astype(np.float32), draw.integers(0, 3, 8))
        self.images = self.data("large.npz", draw.uniform(size=(8, 784)).astype(np.float32), draw.integers(0, 10, 8))

    def data(self, name, inputs, targets):
        path = os.path.join(self.work, name)
        np.savez(path, x0=inputs, y0=targets.astype(np.int32))
        return path

    def run(self, *arguments, **options):
        return subprocess.run([self.tool, *arguments], capture_output=True, text=True, timeout=120, check=False, **options)

    def train(self, folder, data, *arguments, **options):
        return self.run("train", folder, "--data", data, "--batch-size=8", "--epochs=1", "--threads=1", *arguments, **options)

    # ---- Processes that end ----------------------------------------------------------------------

    def test_kill_while_saving(self):
        """Two states are saved in turns over one file: whatever moment the process ends at, the file is
        one of the two."""
        runtime = Runtime(self.library)
        path, states = os.path.join(self.work, "killed.state"), []
        for seed in [1, 2]:
            context = Context(runtime, self.large)
            runtime.call("mpc_rt_context_initialize", context.handle, seed)
            runtime.call("mpc_rt_context_save", context.handle, os.fsencode(path))
            states.append(read(path))
            context.close()
        code = ("import os, sys\n"
                f"sys.path.insert(0, {CUSTOM_LOOP!r})\n"
                "from runtime import Context, Runtime\n"
                f"runtime = Runtime({self.library!r})\n"
                f"contexts = [Context(runtime, {self.large!r}) for _ in range(2)]\n"
                "for seed, context in enumerate(contexts, 1):\n"
                "    runtime.call('mpc_rt_context_initialize', context.handle, seed)\n"
                "print('ready', flush=True)\n"
                "while True:\n"
                "    for context in contexts:\n"
                f"        runtime.call('mpc_rt_context_save', context.handle, {path.encode()!r})\n")  # fmt: skip
        draw, seen = random.Random(4), set()
        for _ in range(KILLS):
            with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
                child.stdout.readline()
                time.sleep(draw.uniform(0, 0.1))
                child.send_signal(signal.SIGKILL)
            content = read(path)
            if content not in states:
                raise Wrong(f"neither the old state nor the new one: {len(content)} bytes")
            seen.add(content == states[0])
        if len(seen) < 2:
            raise Wrong("only one of the states was ever left")
        # The next writer removes what the last one left.
        context = Context(runtime, self.large)
        runtime.call("mpc_rt_context_save", context.handle, os.fsencode(path))
        context.close()
        if left := glob.glob(os.path.join(self.work, ".mpc-write-*")):
            raise Wrong(f"left behind: {left}")

    def test_kill_while_training_with_checkpoints(self):
        """Killed after a random time and resumed, a hundred times: as if nothing had happened."""
        folder, draw = os.path.join(self.work, "killed"), random.Random(5)
        command = [self.tool, "train", self.small, "--data", self.rows, "--batch-size=4", "--threads=1",
                   "--epochs=1000000", "--checkpoint", folder, "--save-freq=1"]  # fmt: skip
        for turn in range(KILLS):
            resume = ["--resume", folder] if turn else []
            with subprocess.Popen(command + resume, stderr=subprocess.PIPE) as child:
                deadline = time.monotonic() + 60
                while not glob.glob(os.path.join(folder, "checkpoint-*")) and time.monotonic() < deadline:
                    time.sleep(0.005)
                time.sleep(draw.uniform(0, 0.08))
                if child.poll() is not None:
                    raise Wrong(f"turn {turn}: ended by itself: {child.stderr.read().decode()}")
                child.kill()
        steps = max(int(name.split("-")[-1].split(".")[0]) for name in os.listdir(folder) if name.startswith("checkpoint-"))
        end = [argument.replace("1000000", str(steps // 2 + 2)) for argument in command[1:]]
        result = self.run(*end, "--resume", folder)
        if result.returncode or "resumed from" not in result.stderr:
            raise Wrong(f"exit {result.returncode}: {result.stderr}")

    # ---- Disks that are full ---------------------------------------------------------------------

    def test_full_disk_at_each_byte_of_a_small_state(self):
        path = os.path.join(self.work, "limited.state")
        runtime = Runtime(self.library)
        context = Context(runtime, self.small)
        runtime.call("mpc_rt_context_save", context.handle, os.fsencode(path))
        context.close()
        whole = read(path)
        if len(whole) >= 4096:
            raise Wrong(f"the state has {len(whole)} bytes; expected less than 4096")
        code = ("import resource, signal, sys\n"
                f"sys.path.insert(0, {CUSTOM_LOOP!r})\n"
                "from runtime import Context, Failed, Runtime\n"
                "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                f"context = Context(Runtime({self.library!r}), {self.small!r})\n"
                f"for limit in range({len(whole)}):\n"
                "    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))\n"
                "    try:\n"
                f"        context.runtime.call('mpc_rt_context_save', context.handle, {path.encode()!r})\n"
                "    except Failed as failure:\n"
                f"        assert failure.status == 3 and {path!r} in str(failure), failure\n"
                "    else:\n"
                "        sys.exit(f'a save within {limit} bytes succeeded')\n"
                f"    if open({path!r}, 'rb').read() != {whole!r}:\n"
                "        sys.exit(f'the old file changed at {limit} bytes')\n")  # fmt: skip
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        if result.returncode:
            raise Wrong(result.stderr)
        return f"{len(whole)} bytes"

    def test_full_disk_at_places_of_a_large_checkpoint(self):
        folder = os.path.join(self.work, "limited")
        first = self.train(self.large, self.images, "--checkpoint", folder)
        if first.returncode:
            raise Wrong(first.stderr)
        checkpoint = only(os.path.join(folder, "checkpoint-*"))
        whole = read(checkpoint)

        def limited(size):
            def prepare():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

            result = self.train(self.large, self.images, "--checkpoint", folder, "--resume", folder, "--epochs=2",
                                preexec_fn=prepare)  # fmt: skip
            if result.returncode != 1 or not result.stderr.rstrip().splitlines()[-1].startswith("error: "):
                raise Wrong(f"{size} bytes: exit {result.returncode}: {result.stderr}")
            if os.listdir(folder) != [os.path.basename(checkpoint)] or read(checkpoint) != whole:
                raise Wrong(f"{size} bytes: left behind: {os.listdir(folder)}")

        for place in range(PLACES):
            limited(len(whole) * place // PLACES)

    def test_full_disk_under_logs(self):
        """Training goes on, with a warning for each log."""
        def prepare():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))

        logs = [os.path.join(self.work, name) for name in ("log.csv", "log.json", "board")]
        result = self.train(self.small, self.rows, "--csv-log", logs[0], "--json-log", logs[1], "--tensorboard", logs[2],
                            "--epochs=3", preexec_fn=prepare)  # fmt: skip
        warnings = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
        if result.returncode or [sum(log in line for line in warnings) for log in logs] != [1, 1, 1]:
            raise Wrong(f"exit {result.returncode}: {result.stderr}")

    # ---- Files that are damaged ------------------------------------------------------------------

    def judge(self, path, content, command, codes):
        """Runs a command over a damaged copy."""
        write(path, content)
        result = self.run(*command)
        last = (result.stderr.rstrip().splitlines() or [""])[-1]
        if result.returncode not in codes or (result.returncode == 1 and "error: " not in result.stderr):
            raise Wrong(f"exit {result.returncode}, expected {codes}: {last[-300:]}")
        return result.returncode

    def damage(self, model, name, command, flipped, cut, places=None):
        """Flips a bit of each byte (or of those at `places`) of a file in a copy of a model's folder
        and cuts it there; `flipped` and `cut` are the exit statuses that may be. Two at a time."""
        def work(share):
            draw = random.Random(f"{name} {share}")
            folder = os.path.join(self.work, f"damaged-{share}")
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(model, folder)
            path = only(os.path.join(folder, name))
            whole = read(path)
            chosen = (places(len(whole)) if places else range(len(whole)))[share::2]
            bits = {place: 1 << draw.randrange(8) for place in chosen}
            refused = 0
            for place in chosen:
                changed = bytearray(whole)
                changed[place] ^= bits[place]
                refused += self.judge(path, changed, command(folder), flipped)
                refused += self.judge(path, whole[:place], command(folder), cut)
            return refused

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return f"{sum(pool.map(work, range(2)))} runs were refused"

    def predict(self, folder, inputs=None):
        return ["predict", folder, "--inputs", inputs or self.rows, "--outputs", os.path.join(folder, "out.npz"), "--threads=1"]

    def test_damaged_library(self):
        """All but the magic of the seal is sealed."""
        def places(size):
            draw = random.Random(7)
            return sorted(set(range(256)) | {draw.randrange(size - 24) for _ in range(700)})

        return self.damage(self.small, "libnet.so", self.predict, {1}, {1}, places)

    def test_damaged_weights(self):
        """The header says what is wrong; numbers may be any."""
        command = lambda folder: self.predict(folder, self.vectors)  # noqa: E731
        return self.damage(self.weighted, "net.safetensors", command, {0, 1}, {1})

    def test_damaged_archive(self):
        """A model that is one file. Library and manifest are checked byte by byte; weights may be any numbers, and
        the header is for compilers."""
        folder = os.path.join(self.work, "archived")
        os.mkdir(folder)
        archive = os.path.join(folder, "net.mpc")
        subprocess.run([os.path.join(os.path.dirname(self.tool), "mpcc"), WEIGHTED, "-q", "--name=net", "--march=native", "--emit=archive", "-o", archive],
                       check=True)  # fmt: skip
        size, parts = os.path.getsize(archive), {}
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                begin = member.header_offset + 30 + len(member.filename) + len(member.extra)
                parts[member.filename] = range(begin, begin + member.file_size)
        checked = [*parts["libnet.so"][:-24], *parts["net.json"]]  # all but the magic of the seal
        others = sorted(set(range(size)) - set(checked) - set(parts["net.safetensors"]) - set(parts["net.h"]))
        draw = random.Random(8)
        loose = sorted(draw.sample([*parts["net.safetensors"], *parts["net.h"]], 200) + draw.sample(others, min(len(others), 400)))
        checked = sorted(draw.sample(checked, 600))

        def command(copy):
            return ["predict", os.path.join(copy, "net.mpc"), "--inputs", self.vectors, "--outputs", os.path.join(copy, "out.npz"), "--threads=1"]

        return [self.damage(folder, "net.mpc", command, flipped, {1}, lambda _, places=places: places)
                for places, flipped in [(checked, {1}), (loose, {0, 1})]]  # fmt: skip

    def test_damaged_manifest(self):
        """Nothing that runs a model needs it: the library has its own."""
        return self.damage(self.small, "net.json", lambda folder: ["inspect", folder], {0}, {0},
                           lambda size: range(0, size, 16))  # fmt: skip

    def test_damaged_checkpoint(self):
        saved = os.path.join(self.small, "saved")
        result = self.train(self.small, self.rows, "--checkpoint", saved)
        if result.returncode:
            raise Wrong(result.stderr)
        command = lambda folder: ["train", folder, "--data", self.rows, "--batch-size=8", "--epochs=2",  # noqa: E731
                                  "--threads=1", "--resume", os.path.join(folder, "saved")]  # fmt: skip
        try:
            return self.damage(self.small, os.path.join("saved", "checkpoint-*"), command, {1}, {1})
        finally:
            shutil.rmtree(saved)


def main():
    with tempfile.TemporaryDirectory(prefix="mpc-faults-") as work:
        return named_tests.run(named_tests.methods(Suite(sys.argv[1], sys.argv[2], work)))


if __name__ == "__main__":
    sys.exit(main())
