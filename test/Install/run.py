#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs the components into a folder, moves it, builds the examples against it from copies of
their folders, runs them and looks at what they print; and what the runtime exports."""
import argparse
import concurrent.futures
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from commands import Failure, expect, run  # noqa: E402  pylint: disable=wrong-import-position
import named_tests  # noqa: E402  pylint: disable=wrong-import-position


class Suite:
    def __init__(self, arguments):
        self.source, self.work = os.path.abspath(arguments.source), os.path.abspath(arguments.work)
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        # Installed to one place, used at another: nothing may hold the first path.
        first = os.path.join(self.work, "installed")
        for component in ["runtime", "dev", "run", "tools"]:
            run("cmake", "--install", arguments.build, "--prefix", first, "--component", component)
        self.prefix = os.path.join(self.work, "a folder of a user")
        os.rename(first, self.prefix)
        self.library = os.path.join(self.prefix, "lib", "libmpcrt.so.1")
        self.environment = dict(os.environ, LC_ALL="C.UTF-8")
        for name in ["LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH"]:
            self.environment.pop(name, None)

    def tool(self, name):
        return os.path.join(self.prefix, "bin", name)

    def build(self, example, *definitions):
        folder = os.path.join(self.work, example)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(os.path.join(self.source, "examples", example), folder)
        build = os.path.join(folder, "build")
        flags = "-Wall -Wextra -Wpedantic -Werror"
        run("cmake", "-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}", *definitions,
            env=self.environment)
        run("cmake", "--build", build, env=self.environment)
        return build

    def go(self, build, *arguments, code=0):
        program = os.path.join(build, os.path.basename(os.path.dirname(build)))
        return run(program, *arguments, code=code, cwd=build, env=self.environment)

    def test_c_predict(self):
        text = self.go(self.build("c_predict"))
        expect(text, r"model blobs, policy float32\nsample 0: 0\.\d{4} 0\.\d{4} 0\.\d{4}\n")

    def test_c_predict_with_a_model_compiled_beforehand(self):
        folder = os.path.join(self.work, "beforehand")
        run(self.tool("mpcc"), os.path.join(self.source, "examples/c_predict/blobs.json"), "-q",
            "-o", folder)
        text = self.go(self.build("c_predict", f"-DMODEL_DIR={folder}"))
        expect(text, "sample 2: ")

    def test_c_custom_training_loop(self):
        text = self.go(self.build("c_custom_training_loop"))
        expect(text, r"step +0 +loss 1\.\d+ +loss scale 67108864 +skipped")
        expect(text, r"step +\d+ +loss \d\.\d+ +loss scale +\d+ +applied")
        expect(text, r"skipped [1-9]\d* steps, (5[89]|6[0-4]) of 64 right")
        expect(text, "restored: the same bytes")

    def test_two_models(self):
        build = self.build("two_models")
        text = self.go(build)
        expect(text, r"blobs \(mixed_bfloat16\): loss 1\.\d+, then 0\.\d+")
        expect(text, r"ring \(float32\): loss 0\.\d+, then 0\.\d+")
        if os.path.exists(os.path.join(build, "ring.mpc", "ring.safetensors")):
            raise Failure("weights stand beside the library that embeds them")

    def test_one_model_of_several_targets(self):
        """What mpc_add_model promises beyond one target: see cmake/MpcAddModel.cmake."""
        folder = os.path.join(self.work, "several")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "inner"))
        os.makedirs(os.path.join(folder, "mixed_bfloat16"))  # the policy all the same
        shutil.copy(os.path.join(self.source, "examples/c_predict/blobs.json"), os.path.join(folder, "3 blobs.json"))
        program = '#include "m3_blobs.h"\nint main(void) {\n  m3_blobs_model_t *model = 0;\n  m3_blobs_context_t *context = 0;\n  return m3_blobs_model_create(&model) || m3_blobs_create(model, 0, &context);\n}\n'

        def write(name, text):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)

        loss = {"class_name": "SparseCategoricalCrossentropy", "config": {"reduction": "sum"}}
        write("loss.json", json.dumps(loss))
        write("main.c", program)
        write("inner/CMakeLists.txt", "add_executable(inner ../main.c)\ntarget_link_libraries(inner PRIVATE m3_blobs::m3_blobs)\n")
        write("CMakeLists.txt", """cmake_minimum_required(VERSION 3.20)
project(several C)
find_package(mpc CONFIG REQUIRED)
foreach(program IN ITEMS one two)
  add_executable(${program} main.c)
  mpc_add_model(TARGET ${program} MODEL "3 blobs.json" POLICY mixed_bfloat16 OPTIONS --loss=loss.json --optimizer=sgd --march=x86-64-v2)
endforeach()
add_subdirectory(inner)
if(OTHER)
  mpc_add_model(TARGET one MODEL "3 blobs.json")
endif()
set_target_properties(one PROPERTIES INSTALL_RPATH "$ORIGIN/../lib" INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS one DESTINATION bin)
install(FILES $<TARGET_FILE:m3_blobs::m3_blobs> $<TARGET_FILE_DIR:m3_blobs::m3_blobs>/m3_blobs.safetensors DESTINATION lib)
""")
        build, prefix = os.path.join(folder, "build"), os.path.join(folder, "prefix")
        run("cmake", "-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", env=self.environment)
        run("cmake", "--build", build, env=self.environment)
        for name in ("one", "two", "inner/inner"):
            run(os.path.join(build, name), env=self.environment)
        library = os.path.join(build, "m3_blobs.mpc", "libm3_blobs.so")
        with open(library, "rb") as file:
            before = file.read()
        loss["config"]["reduction"] = "mean"
        time.sleep(1.1)  # file systems that keep seconds
        write("loss.json", json.dumps(loss))
        run("cmake", "--build", build, env=self.environment)
        with open(library, "rb") as file:
            if file.read() == before:
                raise Failure("the library has the old loss")
        run("cmake", "--install", build, "--prefix", prefix, env=self.environment)
        os.rename(os.path.dirname(library), os.path.join(folder, "elsewhere"))
        run(os.path.join(prefix, "bin", "one"), env=self.environment)
        text = run("cmake", "-DOTHER=ON", build, code=1, env=self.environment)
        expect(re.sub(r"\s+", " ", text), "mpc_add_model: m3_blobs is the name of another model, or of this one with other options; add NAME")

    def test_cpp_fine_tune(self):
        build = self.build("cpp_fine_tune")
        model = os.path.join(self.work, "cpp_fine_tune", "blobs.json")
        run(self.tool("mpcc"), model, "-q", "-o", os.path.join(build, "blobs.mpc"))
        text = self.go(build, "blobs.mpc", "tuned.safetensors", "predictions/")
        expect(text, "4 of 6 variables are frozen")
        expect(text, r"loss \d\.\d+, then \d\.\d+")
        run(self.tool("mpc-convert"), "tuned.safetensors", "--model", model, "-o", "tuned.npz",
            cwd=build)
        expect(self.go(build, "absent.mpc", "x", "y", code=1), "error: absent.mpc: ")

    def test_server(self):
        """Requests from many threads at once: right answers, fewer runs than rows."""
        build = self.build("server")
        folder = os.path.join(self.work, "served")
        run(self.tool("mpcc"), os.path.join(self.source, "examples/c_predict/blobs.json"), "-q", "-o", folder)
        server = subprocess.Popen([os.path.join(build, "server"), folder, "--port=0", "--contexts=2", "--batch=16"],
                                  stdout=subprocess.PIPE, text=True, env=self.environment)  # fmt: skip
        try:
            address = re.search(r"http://\S+", server.stdout.readline()).group()

            def ask(path, body=None, method=None):
                data = None if body is None else json.dumps(body).encode()
                request = urllib.request.Request(address + path, data=data, method=method)
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.load(answer)

            size = len(self.blobs_row())
            rows = [[0.1 * (i + j) for j in range(size)] for i in range(64)]
            one_by_one = [ask("/predict", {"inputs": [row]})["outputs"][0] for row in rows]
            for output in one_by_one:
                if abs(sum(output) - 1) > 1e-5:
                    raise Failure(f"no probabilities: {output}")
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                together = list(pool.map(lambda row: ask("/predict", {"inputs": [row]})["outputs"][0], rows * 4))
            for output, expected in zip(together, one_by_one * 4):
                if max(abs(a - b) for a, b in zip(output, expected)) > 1e-6:
                    raise Failure(f"{output} in a batch, {expected} alone")
            health = ask("/health")
            if health["rows"] != 5 * 64 or health["runs"] >= health["rows"]:
                raise Failure(f"nothing was batched: {health}")
            for body in [{"inputs": [[1]]}, {"rows": 3}, {"inputs": [["a"] * size]}, {"inputs": [rows[0]] * 17}, {"inputs": []}, {"inputs": [[1e39] * size]}]:
                try:
                    raise Failure(f"{body} was answered: {ask('/predict', body)}")
                except urllib.error.HTTPError as refusal:
                    expect(refusal.read().decode(), "error.*expected")
            ask("/stop", {})
            if server.wait(timeout=30):
                raise Failure(f"the server ended with {server.returncode}")
        finally:
            server.kill()
            server.wait()
        expect(run(os.path.join(build, "server"), "absent.mpc", code=1, env=self.environment), "error: absent.mpc: No such file")
        for option in ["--port=http", "--port=65536", "--port=", "--contexts=0", "--contexts=1e9", "--batch=-1"]:
            expect(run(os.path.join(build, "server"), folder, option, code=2, env=self.environment), "usage: server MODEL")

    def blobs_row(self):
        with open(os.path.join(self.source, "examples/c_predict/blobs.json")) as handle:
            shape = re.search(r'"batch_(?:input_)?shape": \[\s*null,\s*(\d+)', handle.read())
        return [0.0] * int(shape.group(1))

    def test_another_library_is_refused(self):
        """A program that was compiled for one library says so when it finds another."""
        build = os.path.join(self.work, "c_predict", "build")
        model = os.path.join(self.source, "examples/c_predict/blobs.json")
        run(self.tool("mpcc"), model, "-q", "--policy=bfloat16", "-o", os.path.join(build, "blobs.mpc"))
        program = os.path.join(build, "c_predict")
        text = run(program, code=1, env=dict(self.environment,
                                             LD_PRELOAD=os.path.join(build, "blobs.mpc/libblobs.so")))
        expect(text, "error: .*has the policy 'bfloat16', the program was compiled for 'float32'")

    def test_man_pages_and_completions(self):
        """Each option that a tool's help shows is in its man page and completions, as installed."""
        share = os.path.join(self.prefix, "share")
        for tool in ["mpcc", "mpc-run", "mpc-convert", "mpc-opt", "mpc-translate", "mpc-reduce"]:
            with gzip.open(os.path.join(share, "man/man1", tool + ".1.gz"), "rt") as page:
                text = page.read().replace("\\-", "-")
            helps = [run(self.tool(tool), "--help")]
            if tool == "mpc-run":
                commands = re.findall(r"^  ([a-z]+) {2,}", helps[0], re.M)
                helps += [run(self.tool(tool), command, "--help") for command in commands]
            options = {option for each in helps for option in re.findall(r"^  (--?[A-Za-z][\w-]*)", each, re.M)}
            if len(options) < 5:
                raise Failure(f"{tool} --help shows {options}")
            for path in ["bash-completion/completions/" + tool, "zsh/vendor-completions/_" + tool, f"fish/vendor_completions.d/{tool}.fish"]:
                with open(os.path.join(share, path)) as completion:
                    words = completion.read()
                missing = [option for option in options if (option if tool + ".fish" not in path else option.lstrip("-")) not in words]
                if missing:
                    raise Failure(f"{path} lacks {missing}")
            missing = [option for option in options if f"\\fB{option}\\fR" not in text]
            if missing:
                raise Failure(f"{tool}.1 lacks {missing}")

    def test_pkg_config(self):
        folder = os.path.join(self.work, "beforehand")
        flags = run("pkg-config", "--cflags", "--libs", "mpc-runtime", env=dict(
            self.environment, PKG_CONFIG_PATH=os.path.join(self.prefix, "lib/pkgconfig")))
        quoted = f"cc example.c -I. {flags.strip()} -Wl,-rpath,\"$LIB\" -o example && ./example libblobs.so"
        text = run("sh", "-c", quoted, cwd=folder,
                   env=dict(self.environment, LIB=os.path.join(self.prefix, "lib")))
        expect(text, "predicted 4 samples")

    def test_exported_symbols(self):
        names = sorted(line.split()[0].split("@")[0] for line in
                       run("nm", "-D", "--defined-only", "--format=posix", self.library).splitlines())
        with open(os.path.join(HERE, "symbols.txt")) as handle:
            expected = handle.read().split()
        if names != expected:
            raise Failure(f"more: {sorted(set(names) - set(expected))}, "
                          f"missing: {sorted(set(expected) - set(names))}; the ABI changed: if that is "
                          "meant, change symbols.txt (docs/abi.md)")

    def test_symbols_of_models(self):
        library = os.path.join(self.work, "beforehand", "libblobs.so")
        names = {line.split()[0] for line in
                 run("nm", "-D", "--defined-only", "--format=posix", library).splitlines()}
        if names != {"blobs_executable_query", "mpc_rt_executable_query"}:
            raise Failure(f"exports {sorted(names)}")

    def test_sizes(self):
        # As packages hold it: without the symbols that a debugger reads. Users are promised a package of less than 3 MB, which
        # holds changelog and licence beside it (packages.py); the limit here is below that, so that a change has room for a kernel
        # and what grows by accident (kernels exist once per level of instructions) is seen while there is time to make it smaller.
        stripped = os.path.join(self.work, "stripped.so")
        subprocess.run(["strip", "-o", stripped, os.path.realpath(self.library)], check=True)
        size = os.path.getsize(stripped)
        if size > 2_800_000:
            raise Failure(f"libmpcrt has {size} bytes; expected at most 2,800,000")
        if os.path.getsize(os.path.join(self.work, "beforehand", "libblobs.so")) > 300 << 10:
            raise Failure("the model's library is larger than 300 KiB")


def main():
    parser = argparse.ArgumentParser()
    for name in ["build", "source", "work"]:
        parser.add_argument(f"--{name}", required=True)
    suite = Suite(parser.parse_args())
    tests = named_tests.methods(suite)
    # The folder of a compiled model is made by the one test that its name is of.
    order = sorted(tests, key=lambda name: ("beforehand" not in name, "refused" in name, name))
    return named_tests.run({name: tests[name] for name in order})


if __name__ == "__main__":
    sys.exit(main())
