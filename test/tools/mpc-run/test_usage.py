#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc-run's command line, inspect, devices and bench."""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import termios

import linear


class Usage(linear.ToolTest):
    def usage(self, *arguments, message):
        self.fails(*arguments, message=message, code=2)

    def test_commands(self):
        self.usage(message="a command is missing; expected one of: predict, evaluate, train, gradients, bench")
        self.usage("fit", message="unknown command 'fit'")
        self.assertIn("usage: mpc-run COMMAND", self.run_tool("--help").stdout)
        self.assertRegex(self.run_tool("--version").stdout, r"^mpc-run \d+\.\d+\.\d+\n$")

    def test_help_of_each_command_has_an_example(self):
        for command in ["predict", "evaluate", "train", "gradients", "bench", "serve", "devices", "inspect"]:
            text = self.run_tool(command, "--help").stdout
            self.assertRegex(text, rf"example:\n  mpc-run {command} ")
            self.assertEqual(text, self.run_tool(command, "-h").stdout)
            self.assertEqual("data D:" in text, command not in ["serve", "devices", "inspect"])

    def test_options(self):
        self.usage("train", self.model, "--ephocs=3", message=r"unknown option '--ephocs'; did you mean --epochs\?")
        self.usage("train", "--data", self.data, message="LIB .* is missing")
        self.usage("train", self.model, message="--data D is missing")
        self.usage("train", self.model, "--data", message="--data needs a value")
        self.usage("train", self.model, "--data=d", "--save=", message="--save needs a value: --save W.safetensors")
        self.usage("train", self.model, "--data=d", "--save", "", message="--save needs a value: --save W.safetensors")
        self.usage("train", self.model, "again", "--data=d", message="'again' is one argument too many")
        self.usage("train", self.model, "--data=d", "--epochs=0", message="--epochs is '0'; expected an integer from 1")
        self.usage("train", self.model, "--data=d", "--batch-size=8x", message="--batch-size is '8x'")
        self.usage("train", self.model, "--data=d", "--shuffle=maybe", message="expected one of: on, off")
        self.usage("train", self.model, "--data=d", "--validation-split=2", message="from 0 to 1")
        for option, what in {"csv-log": "file", "json-log": "file", "checkpoint": "folder", "tensorboard": "folder", "numerics": "folder"}.items():
            self.usage("train", self.model, "--data=d", f"--{option}=-", message=f"--{option} is '-'; expected a {what}: it is not written to standard output")
        self.usage("train", self.model, "--data=d", "--json=3", message="--json takes no value")
        self.usage("train", self.model, "--data=d", "--early-stop=val_loss", message="expected KEY=VALUE")
        self.usage("train", self.model, "--data=d", "--reduce-lr=factor=2", message="factor is '2'")
        self.usage("tune", self.model, message="--out FILE is missing")
        self.usage("tune", self.model, "--out=t.txt", message=r"--out is 't.txt'.*\.json")
        self.usage("inspect", self.model, "--kernels", "--tune", message="expected --tune=FILE, of mpc-run tune")
        self.usage("inspect", self.model, "--kernels", "--tune=t", "--resume=c", message="exclude each other")
        self.usage("inspect", self.model, "--tune=t", message="--tune is for --kernels")
        self.usage("train", self.model, "--data=d", "--initialize", "--weights=w", message="exclude each other")
        self.usage("bench", self.model, "--train", "--predict", message="exclude each other")

    def test_all_faults_at_once(self):
        result = self.fails("train", self.model, "--epochs=no", "--keep=0", "--checkpoint", self.path("c"), message="--epochs", code=2)
        self.assertEqual(len(result.stderr.splitlines()), 3)

    def test_libraries_that_are_none(self):
        for path, message in [
            (self.path("absent"), "absent"),
            (self.data, "data.npz"),
            (self.folder, "lib"),
        ]:
            self.fails("inspect", path, message=message)

    def test_deterministic_and_threads_and_device(self):
        self.run_tool("evaluate", self.model, "--data", self.data, "--deterministic", "--threads=1", "--device=cpu")
        for name in ["tpu", "cuda:", "cuda:x", "cuda:-1", "cudas", "CPU"]:
            self.usage("evaluate", self.model, "--data", self.data, f"--device={name}",
                       message=f"--device is '{name}'; expected cpu or cuda:N")  # fmt: skip


class Inspect(linear.ToolTest):
    def test_json(self):
        shown = json.loads(self.run_tool("inspect", self.model, "--json").stdout)
        self.assertEqual(shown["model"], "linear")
        self.assertEqual(shown["outputs"], [{"name": "out0", "alias": "probabilities"}])
        self.assertEqual([e["name"] for e in shown["entries"]], ["predict", "evaluate", "train_step", "gradients"])
        self.assertEqual(shown["entries"][1]["inputs"][1],
                         {"name": "y0", "dtype": "int32", "shape": [None], "index_limit": 4})  # fmt: skip
        self.assertEqual(shown["bytes_by_role"]["trainable"], 64)

    def test_table(self):
        table = self.run_tool("inspect", self.model).stdout
        self.assertRegex(table, r"dense/kernel +trainable +float32 \[3, 4\]")
        self.assertRegex(table, r"dense +float32")


class Devices(linear.ToolTest):
    def test_json(self):
        devices = json.loads(self.run_tool("devices", "--json").stdout)
        self.assertEqual(devices[0]["name"], "cpu")
        self.assertEqual(
            list(devices[0]["policies"]),
            ["float32", "mixed_bfloat16", "mixed_float16", "bfloat16", "float16"],
        )
        self.assertIn("cpu: ", self.run_tool("devices").stdout)


class Bench(linear.ToolTest):
    def test_json(self):
        result = self.run_tool("bench", self.model, "--batch-size=64", "--steps=5", "--json")
        shown = json.loads(result.stdout)
        self.assertEqual((shown["mode"], shown["batch_size"], shown["steps"]), ("train", 64, 5))
        self.assertLessEqual(shown["ms_min"], shown["ms_median"])
        self.assertLessEqual(shown["ms_median"], shown["ms_max"])
        self.assertGreater(shown["bytes_peak"], shown["bytes_planned"])
        self.assertRegex(result.stderr, r"train, batch 64, 5 steps: .* min, .* median, .* max, .* samples/s")
        shown = json.loads(self.run_tool("bench", self.model, "--predict", "--json").stdout)
        self.assertEqual(shown["mode"], "predict")

    def test_serve(self):
        result = self.run_tool("bench", self.model, "--serve", input="go 3\ngo 1\nquit\n")
        ready, first, second, done = result.stdout.splitlines()
        self.assertEqual(json.loads(re.fullmatch("READY (.*)", ready)[1])["mode"], "train")
        self.assertEqual(len(json.loads(re.fullmatch("TIMES (.*)", first)[1])), 3)
        self.assertEqual(len(json.loads(re.fullmatch("TIMES (.*)", second)[1])), 1)
        self.assertEqual(set(json.loads(re.fullmatch("DONE (.*)", done)[1])),
                         {"loss", "bytes_planned", "bytes_peak"})  # fmt: skip
        result = self.run_tool("bench", self.model, "--serve", input="stop\n", expect=1)
        self.assertIn("expected `go N`", result.stderr)


class Terminal(linear.ToolTest):
    def on_terminal(self, columns=0, **environment):
        main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        process = subprocess.Popen(
            [linear.TOOL, "train", self.model, "--data", self.data, "--epochs=2", "--batch-size=8", "--validation-split=0.2"],
            stderr=other, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], **environment},
        )  # fmt: skip
        os.close(other)
        text = b""
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
        os.close(main)
        self.assertEqual(process.wait(), 0)
        self.assertEqual(process.stdout.read(), b"")
        process.stdout.close()
        return text.decode()

    def test_live_line(self):
        text = self.on_terminal(TERM="xterm")
        self.assertRegex(text, r"\r\x1b\[KEpoch 2/2  ━━━━━━━  2/2  \S+ \S+/step  \S+ samples/s  loss \d\.\d{4}  "
                               r"accuracy 0\.\d{4}  val_loss \d\.\d{4}  val_accuracy \d\.\d{4}  scale \d+  skipped 0  eta 0s\r\n$")  # fmt: skip

    def test_narrow_terminals(self):
        """Bar, speed and eta give way, in that order; then the line of a finished epoch is wrapped. No value is lost."""
        values = ["Epoch 2/2", "2/2", r"loss \d\.\d{4}", r"accuracy \d\.\d{4}", r"val_loss \d\.\d{4}", r"val_accuracy \d\.\d{4}", r"scale \d+", "skipped 0"]
        dispensable = ["━━━━━━━", r"\S+ samples/s", r"\S+ \S+/step", "eta 0s"]
        seen = set()
        for columns in [200, 148, 135, 119, 112, 80, 40, 12]:
            text = self.on_terminal(TERM="xterm", columns=columns)
            lines = text[text.rindex("Epoch 2/2") :].replace("\r\n", "\n").rstrip("\n").split("\n")
            whole = "  ".join(line.strip() for line in lines)
            gone = [not re.search(f"(^|  ){part}($|  )", whole) for part in dispensable]
            self.assertEqual(gone, sorted(gone, reverse=True), whole)  # the first ones only
            seen.add(sum(gone))
            kept = re.sub("  (" + "|".join(dispensable) + ")(?=  |$)", "", whole)
            self.assertRegex(kept, "^" + "  ".join(values) + "$")
            for line in lines:
                self.assertTrue(len(line) < columns or "  " not in line.strip(), (columns, line))
            self.assertTrue(len(lines) == 1 or all(gone), lines)
            for part in text.replace("\r\n", "\n").split("\r\x1b[K")[1:]:
                self.assertTrue("val_" in part or len(part.split("\n")[0]) < columns, (columns, part))
        self.assertTrue(seen >= {0, 4}, seen)

    def test_plain_when_asked(self):
        for environment in [{"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}, {}]:
            text = self.on_terminal(**environment)
            self.assertNotIn("\x1b", text)
            self.assertRegex(text, r"Epoch 2/2  2/2  ")


if __name__ == "__main__":
    linear.main()
