#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the code blocks of all pages, in their order, with what was installed: `sh` has to succeed, and
`console` to print what stands below each command ("…" stands for anything). So do the examples that
--help shows. Each page has a folder of its own, which begins with the FILES below. test/pages.py says
how a page names further set-up, files and exceptions.

With --installed instead of --build it takes the tools and libraries that the system has, as a user's
terminal does (test/Long/walk.sh)."""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import named_tests  # noqa: E402  pylint: disable=wrong-import-position
import pages  # noqa: E402  pylint: disable=wrong-import-position
import places  # noqa: E402  pylint: disable=wrong-import-position

# Makes the files that pages and examples work on, by the names that they use.
FILES = """
cp "$SOURCE/examples/mnist_mlp/model_256.keras" model.keras
cp "$SOURCE/examples/mnist_mlp/model.json" model.json
mpcc model.keras -q -o model.mpc
mpcc model.keras -q --numerics --custom-loop=off -o traced.mpc
mpcc model.keras -q --numerics --custom-loop=off --policy=mixed_bfloat16 -o mixed.mpc
echo '{"default_policy": "mixed_bfloat16", "policy_map": {"dense_1": "float32"}}' > map.json
/usr/bin/python3 - "$FIXTURES/forward/bidirectional_concat__float32/model.keras" << 'END'
import json, sys, zipfile
import numpy
speech = json.loads(zipfile.ZipFile(sys.argv[1]).read("config.json").decode().replace('"x0"', '"features"'))
speech["config"]["layers"][0]["config"]["batch_shape"] = [None, None, 36]
json.dump(speech, open("speech.json", "w"))
open("architecture.json", "wb").write(zipfile.ZipFile("model.keras").read("config.json"))
x = numpy.random.default_rng(0).uniform(size=(320, 784)).astype(numpy.float32)
y = (x[:, 0] * 10).astype(numpy.int32)
numpy.savez("x.npz", x0=x)
for name in ["train", "test", "batch"]:
    numpy.savez(name + ".npz", x0=x, y0=y)
END
protoc --proto_path="$SOURCE" --encode=mpc.onnx.file.ModelProto "$SOURCE/lib/Import/ONNX/Reader/Onnx.proto" \
  < "$SOURCE/test/Driver/Inputs/perceptron.txtpb" > model.onnx
mpcc model.onnx -q --name=tuned -o tuned.mpc
cp tuned.mpc/tuned.safetensors tuned.safetensors
mpc-convert model.keras -o trained.safetensors
mpc-convert model.keras -o model.h5
mpc-convert model.keras -o model.weights.h5
"""


class Failure(Exception):
    pass


def is_ours(block):
    return block.language != "text" and not {"not run", "run by"} & set(block.markers)


class Suite:
    def __init__(self, build, work):
        shutil.rmtree(work, ignore_errors=True)
        self.work = work
        self.environment = dict(os.environ, LC_ALL="C.UTF-8", SOURCE=pages.ROOT, FIXTURES=places.fixtures("keras"))
        if build:
            self.install(build)
        self.files = os.path.join(work, "files")
        os.makedirs(self.files)
        self.run(FILES, self.files, "set-up")

    def install(self, build):
        prefix = os.path.join(self.work, "prefix")
        for component in ["runtime", "dev", "run", "tools"]:
            subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component", component],
                           check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        library = os.path.join(prefix, "lib")
        self.environment.update(
            OMP_WAIT_POLICY="passive", CMAKE_PREFIX_PATH=prefix, PATH=os.path.join(prefix, "bin") + ":/usr/bin:/bin", LD_LIBRARY_PATH=library,
            PKG_CONFIG_PATH=os.path.join(library, "pkgconfig"))  # fmt: skip

    def folder(self, name):
        path = os.path.join(self.work, re.sub(r"\W+", "-", name))
        return shutil.copytree(self.files, path)

    def run(self, commands, folder, place):
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)  # fmt: skip
        if result.returncode:
            raise Failure(f"{place}: exit {result.returncode}\n{commands}\n{result.stdout[-3000:]}")
        return result.stdout

    def serve(self, command, folder, place):
        """A command that answers until it is told to end."""
        with subprocess.Popen(["bash", "-euc", "exec " + command], cwd=folder, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:  # fmt: skip
            shown = server.stdout.readline()
            while shown and "serving http://" not in shown:
                shown = server.stdout.readline()
            server.send_signal(signal.SIGTERM)
            try:
                ended = server.wait(timeout=60)
            except subprocess.TimeoutExpired:
                server.kill()
                raise
        if not shown or ended:
            raise Failure(f"{place}: {command}: exit {ended}, {shown or 'and it never served'}")

    def converse(self, text, folder, place):
        """Commands after `$ `, each followed by what it prints."""
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
            printed = self.run(command, folder, place)
            pattern = ".*".join(map(re.escape, shown.split("…")))
            if not re.fullmatch(pattern, printed, re.S):
                raise Failure(f"{place}: {command}\nthe page shows\n{shown}but it prints\n{printed[:3000]}")

    def try_page(self, name):
        folder = self.folder(name)
        for block in pages.blocks(name):
            place = f"{name}:{block.line}"
            if not is_ours(block):
                continue
            self.run(block.markers.get("setup", ""), folder, place)
            if "file" in block.markers:
                with open(os.path.join(folder, block.markers["file"]), "w", encoding="utf-8") as handle:
                    handle.write(block.text)
                continue
            if block.language == "sh":
                self.run(block.text, folder, place)
            elif block.language == "console":
                self.converse(block.text, folder, place)
            else:
                raise Failure(f"{place}: a block in '{block.language}' is neither run nor said to be not run")

    def try_help(self, tool):
        folder = self.folder("help of " + tool)
        texts = [self.run(f"{tool} --help", folder, tool)]
        if tool == "mpc-run":
            commands = re.findall(r"^  ([a-z]+) {2,}", texts[0], re.M)
            texts += [self.run(f"{tool} {command} --help", folder, tool) for command in commands]
        examples = [line for text in texts for line in re.findall(rf"^  ({tool} .*)", text, re.M)
                    if re.search(rf"(?i)^examples?:\n(  .*\n)*  {re.escape(line)}\n", text, re.M)]  # fmt: skip
        if not examples:
            raise Failure("shows no example")
        for example in examples:
            (self.serve if " serve " in example else self.run)(example, folder, "an example of --help")

    def tests(self):
        result = {}
        for name in pages.names():
            if any(map(is_ours, pages.blocks(name))):
                result[name] = lambda name=name: self.try_page(name)
        for tool in ["mpcc", "mpc-convert", "mpc-run"]:
            result["help of " + tool] = lambda tool=tool: self.try_help(tool)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--build")
    where.add_argument("--installed", action="store_true")
    parser.add_argument("--work", required=True)
    parser.add_argument("--only", default="", help="regular expression of names of tests")
    arguments = parser.parse_args()
    suite = Suite(arguments.build and os.path.abspath(arguments.build), os.path.abspath(arguments.work))
    return named_tests.run({name: test for name, test in suite.tests().items() if re.search(arguments.only, name)})


if __name__ == "__main__":
    sys.exit(main())
