#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""500 wicked names, as names of layers, outputs, metrics, variables, classes, options and data,
through every outlet of the tools; what comes out is read by parsers that are not mpc's.

Prints `ran N tests` and exits 1 if one failed.
"""

import argparse
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import numpy

import outlets
import wicked_names

COUNT, BATCH = 500, 100
ROWS = 4
MODELS = (wicked_names.predicting, wicked_names.training)


class Tools:
    def __init__(self, arguments):
        self.folder, self.work, self.include = arguments.bin, arguments.work, arguments.include
        self.environment = dict(os.environ, LC_ALL="C.UTF-8", NO_COLOR="1", OMP_WAIT_POLICY="passive")

    def run(self, tool, *words, codes=(0,), timeout=600):
        """Its standard output and messages; the latter are checked always."""
        level = ["--march=native", "-O0"] if tool == "mpcc" else []  # names are no part of what functions compile to
        command = [os.path.join(self.folder, tool), *map(str, words), *level]
        done = subprocess.run(command, capture_output=True, env=self.environment, timeout=timeout)
        what = f"{tool} {' '.join(map(str, words))[:200]}"
        assert done.returncode in codes, f"{what}: exit {done.returncode}: {done.stderr[-500:]!r}"
        outlets.check_shown(done.stderr, what)
        return done

    def path(self, *parts):
        return os.path.join(self.work, *parts)


def is_refused(tools, make, names, *options):
    """Whether mpcc refuses the model, with messages about its names."""
    model = wicked_names.write(tools.path("m.json"), make(names))
    done = tools.run("mpcc", model, "--name=net", *options, codes=(0, 1))
    if done.returncode:
        outlets.check_messages(done.stderr, "mpcc")
    return done.returncode == 1


def imported(tools, names):
    """Those that the import takes."""
    if not any(is_refused(tools, make, names, "--compile-to=import") for make in MODELS):
        return names
    if len(names) == 1:
        return []
    half = len(names) // 2
    return imported(tools, names[:half]) + imported(tools, names[half:])


def accepted(tools, names):
    """Those that a model may have. A null character is refused where the library is written: each such name alone,
    since whole models would be compiled for it again and again. The batch compiles what is left to the end."""
    names = imported(tools, names)
    for name in names:
        if "\0" in name:
            for make in MODELS:
                assert is_refused(tools, make, [name], "-o", tools.path("net")), repr(name)
    return [name for name in names if "\0" not in name]


def carried(name):
    """JSON carries any name but halves of surrogate pairs."""
    return re.sub("[\ud800-\udfff]", "\ufffd", name)


class Batch:
    """Models of a hundred names each, and the tests of what leaves them."""

    def __init__(self, tools, names):
        self.tools = tools
        for name in os.listdir(tools.work):
            shutil.rmtree(tools.path(name), ignore_errors=True)
        self.names = accepted(tools, names)
        self.model = wicked_names.write(tools.path("m.json"), wicked_names.predicting(self.names))
        self.trained = wicked_names.write(tools.path("t.json"), wicked_names.training(self.names))
        tools.run("mpcc", self.model, "--name=net", "-o", tools.path("net"))
        # Compiled once for the library and for what explains it.
        self.explained = tools.run("mpcc", self.trained, "--name=net", "-o", tools.path("trained"), "--explain=json").stdout
        x = numpy.arange(3 * ROWS, dtype="float32").reshape(ROWS, 3) / 8
        self.data = tools.path("data.npz")
        numpy.savez(self.data, x0=x, y0=numpy.zeros((ROWS, 1), "float32"))

    def read(self, *parts):
        with open(self.tools.path(*parts), "rb") as handle:
            return handle.read()

    def test_explain(self):
        command = ["mpcc", self.trained, "--custom-loop=off", "--name=net", "-o", self.tools.path("again")]
        table = self.tools.run(*command, "--explain=passes")
        outlets.check_shown(table.stdout, "--explain=passes")
        layers = outlets.read_json(self.explained, "--explain=json")["layers"]
        assert len(layers) > len(self.names)

    def test_manifest(self):
        metrics = outlets.read_json(self.read("trained", "net.json"), "net.json")["metrics"]
        assert len(metrics) >= len(self.names)
        manifest = outlets.read_json(self.read("net", "net.json"), "net.json")
        got = [output.get("alias", "") for output in manifest["outputs"]]
        wanted = list(map(carried, self.names))
        assert got == wanted, [(a[:50], b[:50]) for a, b in zip(got, wanted) if a != b][:2]

    def test_header_and_example(self):
        for folder in ["net", "trained"]:
            self.check_header(folder)

    def check_header(self, folder):
        outlets.check_shown(self.read(folder, "net.h"), "net.h")
        source = self.tools.path("user.c")
        with open(source, "w") as handle:
            handle.write('#include "net.h"\nint main(void) { return (int)NET_VARIABLE_COUNT == 0; }\n')
        paths = ["-I", self.tools.path(folder), "-I", self.tools.include, "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
        for compiler in ["cc", "clang-22"]:
            for file in [source, self.tools.path(folder, "example.c")]:
                for language in [["-std=c99", "-trigraphs", "-pedantic"], ["-std=gnu17"]]:
                    subprocess.run([compiler, *language, *paths, file], check=True)
        subprocess.run(["c++", "-std=c++17", "-x", "c++", *paths, source], check=True)

    def test_cmake_has_no_name_of_the_model(self):
        plain = wicked_names.write(self.tools.path("plain.json"), wicked_names.training(["d"]))
        self.tools.run("mpcc", plain, "--name=net", "-o", self.tools.path("plain"))
        assert self.read("plain", "netConfig.cmake") == self.read("trained", "netConfig.cmake")
        assert self.read("plain", "netConfig.cmake") == self.read("net", "netConfig.cmake")

    def test_ir_and_dot(self):
        ir = self.tools.run("mpcc", self.trained, "--name=net", "--compile-to=import")
        outlets.check_shown(ir.stdout, "IR")
        with open(self.tools.path("net.mlir"), "wb") as handle:
            handle.write(ir.stdout)
        dot = self.tools.run("mpc-translate", "--export-dot", self.tools.path("net.mlir"))
        outlets.check_dot(dot.stdout)
        if shutil.which("nop"):  # of Graphviz, reads and prints without a layout
            subprocess.run(["nop"], input=dot.stdout, check=True, stdout=subprocess.DEVNULL)

    def test_inspect(self):
        for folder in ["net", "trained"]:
            library = self.tools.path(folder)
            for options in [[], ["--kernels"]]:
                outlets.check_shown(self.tools.run("mpc-run", "inspect", library, *options).stdout, "inspect")
            text = self.tools.run("mpc-run", "inspect", library, "--kernels", "--json").stdout
            outlets.read_json(text, "inspect --json")

    def test_predict(self):
        out = self.tools.path("o.npz")
        done = self.tools.run("mpc-run", "predict", self.tools.path("net"), "--inputs", self.data, "--outputs", out)
        outlets.check_messages(done.stderr, "predict")
        names = outlets.check_npz(out)
        numbered = [f"out{i}" for i in range(len(self.names))]
        assert set(numbered) <= set(names), "out0 stays"
        aliases = set(names) - set(numbered)
        assert aliases <= set(map(carried, self.names))
        folded = [name.lower() for name in names if name.isascii()]
        assert len(set(folded)) == len(folded), "a file system would mix two of them up"
        left_out = done.stderr.count(b"is written as out")
        assert len(aliases) + left_out >= len(self.names), (len(aliases), left_out)

    def test_train(self):
        path = self.tools.path
        logs = ["--csv-log", path("log.csv"), "--json-log", path("log.json"), "--tensorboard", path("board"),
                "--save", path("w.safetensors"), "--checkpoint", path("steps"), "--json"]  # fmt: skip
        done = self.tools.run("mpc-run", "train", path("trained"), "--data", self.data, "--validation-data", self.data,
                              "--epochs", 2, "--batch-size", 2, *logs)  # fmt: skip
        lines = [line for line in done.stderr.splitlines() if not line.startswith((b"note: ", b"warning: "))]
        assert len(lines) == 2 and all(line.startswith(b"Epoch ") for line in lines), [line[:80] for line in lines]
        for text in [done.stdout, self.read("log.json")]:
            for line in text.splitlines(keepends=True):
                outlets.read_json(line, "JSON log")
            assert text.count(b"\n") == 2
        outlets.check_csv(path("log.csv"), rows=2)
        for part in ["train", "validation"]:
            for name in os.listdir(path("board", part)):
                outlets.check_events(path("board", part, name), epochs=2)
        done = self.tools.run("mpc-run", "train", path("trained"), "--data", self.data, "--resume", path("steps"),
                              "--epochs", 3, "--batch-size", 2)  # fmt: skip
        done = self.tools.run("mpc-run", "evaluate", path("trained"), "--data", self.data, "--json",
                              "--weights", path("w.safetensors"))  # fmt: skip
        outlets.read_json(done.stdout, "evaluate --json")
        assert len([line for line in done.stderr.splitlines() if not line.startswith(b"note: ")]) == 1

    def test_archives_of_many_names(self):
        """Names that no member may have are an error before anything is computed."""
        path = self.tools.path
        for command, option in [("gradients", "--outputs"), ("train", "--trace")]:
            out = path(command + ".npz")
            done = self.tools.run("mpc-run", command, path("trained"), "--data", self.data, option, out, codes=(0, 1))
            if done.returncode:
                assert not os.path.exists(out) and b"cannot be the name of a member" in done.stderr
            else:
                outlets.check_npz(out)

    def test_convert(self):
        path = self.tools.path
        weights = path("trained", "net.safetensors")
        self.tools.run("mpcc", self.trained, "--name=net", "--initialize", "-o", path("trained"))
        self.tools.run("mpc-run", "train", path("trained"), "--data", self.data, "--save", weights, "--initialize")
        for suffix in ["safetensors", "npz", "weights.h5", "h5", "keras"]:
            out = path("converted." + suffix)
            if os.path.exists(out):  # of another batch
                os.remove(out)
            done = self.tools.run("mpc-convert", weights, "--model", self.trained, "-o", out, codes=(0, 1))
            if done.returncode:
                outlets.check_messages(done.stderr, suffix)
                assert not os.path.exists(out), f"{done.stderr}: {out} is there"
            elif suffix == "npz":
                outlets.check_npz(out)
            elif suffix == "keras":
                with zipfile.ZipFile(out) as archive:
                    assert archive.testzip() is None
                    json.loads(archive.read("config.json"))
            elif suffix == "safetensors":
                with open(out, "rb") as handle:
                    size = int.from_bytes(handle.read(8), "little")
                    outlets.read_json(handle.read(size), suffix)

    def test_bench(self):
        done = self.tools.run("mpc-run", "bench", self.tools.path("trained"), "--steps", 1, "--kernels", "--memory", "--json")
        outlets.read_json(done.stdout, "bench --json")


class Single:
    """One run for each name."""

    def __init__(self, tools, names, runtime):
        self.tools, self.names, self.runtime = tools, names, runtime
        plain = wicked_names.write(tools.path("plain.json"), wicked_names.training(["d"]))
        tools.run("mpcc", plain, "--name=net", "-o", tools.path("plain"))

    def test_refused_models(self):
        for place, name in enumerate(self.names):
            path = wicked_names.write(self.tools.path("faulty.json"), wicked_names.faulty(name, place))
            done = self.tools.run("mpcc", path, "-o", self.tools.path("faulty"), codes=(0, 1, 2))
            outlets.check_messages(done.stderr, f"mpcc of {name[:100]!r}")

    def test_data(self):
        """Names in archives, folders and tables of data come back in messages."""
        x = numpy.zeros((ROWS, 2), "float32")
        run = ["predict", self.tools.path("plain"), "--outputs", self.tools.path("o.npz"), "--inputs"]
        for begin in range(0, len(self.names), 20):
            data = self.tools.path("data.npz")
            with zipfile.ZipFile(data, "w") as archive:
                for member in {as_member(name) for name in self.names[begin : begin + 20]}:
                    with archive.open(member, "w") as handle:
                        numpy.save(handle, x)
            done = self.tools.run("mpc-run", *run, data, codes=(1,))
            outlets.check_messages(done.stderr, "data.npz")
            folder = self.tools.path("folder")
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
            for name in self.names[begin : begin + 20]:
                base = name.encode("utf-8", "replace").replace(b"/", b"_").replace(b"\0", b"_")[:200]
                with open(os.path.join(folder.encode(), base + b".npy"), "wb") as handle:
                    numpy.save(handle, x)
            outlets.check_messages(self.tools.run("mpc-run", *run, folder, codes=(1,)).stderr, "folder")
            table = self.tools.path("table.csv")
            with open(table, "wb") as handle:
                cells = [name.replace('"', '""')[:1000] for name in self.names[begin : begin + 20]]
                handle.write(",".join(f'"{cell}"' for cell in cells).encode("utf-8", "replace") + b"\n1,2\n")
            outlets.check_messages(self.tools.run("mpc-run", *run, table, codes=(1,)).stderr, "table")

    def test_options(self):
        for name in self.names[6::5]:
            word = name.encode("utf-8", "replace").replace(b"\0", b"")[:1000]
            for command in [
                ["mpcc", b"no" + word],
                ["mpcc", self.tools.path("plain.json"), b"--loss=no" + word, "-o", self.tools.path("q")],
                ["mpc-run", "inspect", b"no" + word],
                ["mpc-run", b"no" + word],
                ["mpc-convert", b"no" + word, "-o", "x.npz"],
            ]:
                command = [os.path.join(self.tools.folder, command[0]), *command[1:]]
                done = subprocess.run(command, capture_output=True, env=self.tools.environment)
                assert done.returncode in (1, 2), (command, done.returncode)
                outlets.check_messages(done.stderr, repr(command))

    def test_errors_of_the_library(self):
        """mpc_rt_last_error(), which programs and Python print."""
        library = ctypes.CDLL(self.runtime)
        library.mpc_rt_last_error.restype = ctypes.c_char_p
        model = ctypes.c_void_p()
        assert library.mpc_rt_model_load(self.tools.path("plain").encode(), ctypes.byref(model)) == 0
        for name in self.names:
            text = name.encode("utf-8", "surrogatepass")
            assert library.mpc_rt_find_variable(model, text, ctypes.byref(ctypes.c_uint32())) != 0
            outlets.check_shown(library.mpc_rt_last_error(), "mpc_rt_last_error", "")
            assert library.mpc_rt_model_load(text[:3000], ctypes.byref(ctypes.c_void_p())) != 0
            outlets.check_shown(library.mpc_rt_last_error(), "mpc_rt_last_error", "")
        library.mpc_rt_model_release(model)


def as_member(name):
    """What Python's zipfile can write: short enough, and without a null."""
    text = name.encode("utf-8", "replace").replace(b"\0", b"")[:60000]
    return text.decode("utf-8", "ignore") + ".npy"


def tests_of(part):
    return [getattr(part, name) for name in sorted(dir(part)) if name.startswith("test_")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ["bin", "runtime", "include", "work"]:
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--only", default="", help="part of a test's name")
    parser.add_argument("--without", help="part of a test's name")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)  # of an earlier run
    os.makedirs(arguments.work)
    tools = Tools(arguments)
    names = wicked_names.names(COUNT)
    assert len(names) == COUNT == len(set(names))
    ran = failed = borne = 0

    def run(part):
        nonlocal ran, failed
        for test in tests_of(part):
            if arguments.only not in test.__name__ or (arguments.without and arguments.without in test.__name__):
                continue
            ran += 1
            try:
                test()
            except (AssertionError, subprocess.SubprocessError, OSError, ValueError, zipfile.BadZipFile) as error:
                failed += 1
                print(f"FAIL {type(part).__name__}.{test.__name__}: {error!r}"[:2000])

    for begin in range(0, COUNT, BATCH):
        batch = Batch(tools, names[begin : begin + BATCH])
        borne += len(batch.names)
        run(batch)
    run(Single(tools, names, arguments.runtime))
    print(f"{borne} of {COUNT} names are names of layers, outputs and metrics; each went through every outlet")
    print(f"ran {ran} tests")
    return 1 if failed or borne < COUNT * 3 // 4 else 0


if __name__ == "__main__":
    sys.exit(main())
