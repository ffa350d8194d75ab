#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc-run train --checkpoint and --resume: resumed runs give the same bytes, whatever stopped them."""

import glob
import json
import os
import random
import re
import resource
import signal
import struct
import subprocess
import time

import numpy

import linear


def crc32c(data):
    """Of Castagnoli's polynomial, reflected, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Checkpoint(linear.ToolTest):
    OPTIONS = ["--batch-size=8", "--seed=7", "--validation-split=0.2"]

    def train(self, *options, expect=0, data=None):
        return self.run_tool("train", self.model, "--data", data or self.data, *self.OPTIONS, *options,
                             expect=expect)  # fmt: skip

    def read(self, *parts):
        with open(self.path(*parts), "rb") as handle:
            return handle.read()

    def whole_run(self, epochs):
        self.train(f"--epochs={epochs}", "--save", self.path("whole"), "--csv-log", self.path("whole.csv"),
                   "--early-stop", "monitor=val_loss,patience=99", "--reduce-lr",
                   "monitor=val_loss,patience=2")  # fmt: skip

    def resumed(self, *options, **keywords):
        return self.train("--save", self.path("part"), "--csv-log", self.path("part.csv"),
                          "--early-stop", "monitor=val_loss,patience=99", "--reduce-lr",
                          "monitor=val_loss,patience=2", *options, **keywords)  # fmt: skip

    def assert_same(self):
        self.assertEqual(self.read("whole"), self.read("part"))
        self.assertEqual(self.read("whole.csv"), self.read("part.csv"))

    def checkpoints(self):
        return sorted(glob.glob(self.path("c", "*")))

    def test_resume_after_an_epoch(self):
        self.whole_run(6)
        self.resumed("--epochs=3", "--checkpoint", self.path("c"))
        self.assertEqual(len(self.checkpoints()), 2)
        result = self.resumed("--epochs=6", "--checkpoint", self.path("c"), "--resume", self.path("c"))
        self.assertRegex(result.stderr, r"note: resumed from .*checkpoint-000000000006.safetensors")
        self.assert_same()

    def test_resume_in_the_middle_of_an_epoch(self):
        # Two steps to an epoch; every checkpoint of a run that saved at each step leads to the end.
        self.whole_run(4)
        self.resumed("--epochs=4", "--checkpoint", self.path("c"), "--save-freq=1", "--keep=100")
        self.assert_same()
        self.assertEqual(len(self.checkpoints()), 8)
        for last in range(7, 0, -1):
            os.remove(self.checkpoints()[last])
            self.resumed("--epochs=4", "--resume", self.path("c"))
            self.assert_same()

    def test_resume_of_steps_that_go_around(self):
        self.train("--steps=9", "--save", self.path("whole"))
        self.train("--steps=9", "--checkpoint", self.path("c"), "--save-freq=4", "--keep=2")
        os.remove(self.checkpoints()[-1])  # that of step 9, the end
        self.train("--steps=9", "--resume", self.path("c"), "--save", self.path("part"))
        self.assertEqual(self.read("whole"), self.read("part"))

    def test_resume_for_more_steps(self):
        self.train("--steps=9", "--save", self.path("whole"))
        self.train("--steps=4", "--checkpoint", self.path("c"))
        self.train("--steps=9", "--resume", self.path("c"), "--save", self.path("part"))
        self.assertEqual(self.read("whole"), self.read("part"))
        result = self.train("--epochs=9", "--resume", self.path("c"), expect=1)
        self.assertIn("was written with --steps, not without; expected the same run", result.stderr)

    def test_more_steps_are_one_epoch(self):
        # Validation, which ends the shorter run, leaves nothing in the metrics of training.
        self.train("--steps=9", "--csv-log", self.path("whole.csv"))
        self.train("--steps=4", "--checkpoint", self.path("c"), "--csv-log", self.path("part.csv"))
        result = self.train("--steps=9", "--resume", self.path("c"), "--csv-log", self.path("part.csv"), "--json")
        self.assertEqual(self.read("whole.csv"), self.read("part.csv"))
        self.assertEqual([json.loads(line)["epoch"] for line in result.stdout.splitlines()], [0])

    def test_what_belongs_to_checkpoints_needs_them(self):
        self.train("--checkpoint", self.path("c"))
        for resumed in ([], ["--resume", self.path("c")]):
            result = self.train("--save-freq=4", "--keep=2", *resumed, expect=2)
            for option in ("--save-freq", "--keep"):
                self.assertIn(f"error: mpc-run train: {option} belongs to --checkpoint; add --checkpoint DIR", result.stderr)

    def test_interrupt_and_resume(self):
        for number, code in [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]:
            process = subprocess.Popen(
                [linear.TOOL, "train", self.model, "--data", self.data, *self.OPTIONS, "--epochs=1000000000",
                 "--checkpoint", self.path("c")],
                stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            while "Epoch 1/" not in process.stderr.readline():
                self.assertIsNone(process.poll())
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, code)
            self.assertRegex(errors.splitlines()[-1], r"note: interrupted after step \d+; go on with --resume")
        newest = self.checkpoints()[-1]
        steps = int(newest[-24:].split(".")[0].split("-")[-1])
        epochs = steps // 2 + 1
        self.train(f"--epochs={epochs}", "--save", self.path("whole"))
        self.train(f"--epochs={epochs}", "--save", self.path("part"), "--resume", self.path("c"))
        self.assertEqual(self.read("whole"), self.read("part"))

    def test_ignored_signals_stay_ignored(self):
        # As nohup and shells that start something in the background ask for.
        for number in [signal.SIGINT, signal.SIGHUP]:
            process = subprocess.Popen(
                [linear.TOOL, "train", self.model, "--data", self.data, *self.OPTIONS, "--epochs=1000000000"],
                stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
            )  # fmt: skip
            while "Epoch 1/" not in process.stderr.readline():
                self.assertIsNone(process.poll())
            process.send_signal(number)
            time.sleep(0.1)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 143, errors)

    def test_kill_at_any_time_leaves_a_checkpoint(self):
        random.seed(1)
        command = [linear.TOOL, "train", self.model, "--data", self.data, *self.OPTIONS, "--checkpoint",
                   self.path("c"), "--save-freq=1", "--epochs=100000000"]  # fmt: skip
        for turn in range(20):
            more = ["--resume", self.path("c")] if turn else []
            process = subprocess.Popen(command + more, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 60
            while not glob.glob(self.path("c", "checkpoint-*")) and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(random.uniform(0.02, 0.08))
            process.kill()
            process.wait()
        steps = int(self.checkpoints()[-1][-24:].split(".")[0].split("-")[-1])
        epochs = steps // 2 + 2
        self.train(f"--epochs={epochs}", "--save", self.path("part"), "--checkpoint", self.path("c"),
                   "--resume", self.path("c"))  # fmt: skip
        self.train(f"--epochs={epochs}", "--save", self.path("whole"))
        self.assertEqual(self.read("whole"), self.read("part"))
        self.assertEqual(glob.glob(self.path("c", ".mpc-write-*")), [])

    def test_keep(self):
        os.mkdir(self.path("c"))
        kept = self.path("c", "checkpoint-best.safetensors")  # a user's copy
        linear.write_safetensors(kept, {})
        self.train("--epochs=6", "--checkpoint", self.path("c"), "--keep=3")
        self.assertTrue(os.path.exists(kept))
        os.remove(kept)
        self.assertEqual([path[-18:-12] for path in self.checkpoints()], ["000008", "000010", "000012"])

    def test_a_new_run_replaces_the_checkpoints_of_an_earlier_one(self):
        # Whose numbers are larger, and yet they are not what --resume goes on from.
        self.train("--epochs=6", "--checkpoint", self.path("c"))
        old = self.checkpoints()
        self.OPTIONS = ["--batch-size=8", "--seed=8", "--validation-split=0.2"]
        result = self.train("--epochs=1", "--checkpoint", self.path("c"))
        self.assertIn(f"warning: {self.path('c')}: has 2 checkpoints of an earlier run, which the first one of this run "
                      f"replaces; --resume {self.path('c')} would go on from them", result.stderr)  # fmt: skip
        self.assertEqual([path[-18:-12] for path in self.checkpoints()], ["000002"])
        result = self.train("--epochs=2", "--checkpoint", self.path("c"), "--resume", self.path("c"), "--save", self.path("part"))
        self.assertNotIn("warning", result.stderr)
        self.assertEqual([path[-18:-12] for path in self.checkpoints()], ["000002", "000004"])
        self.train("--epochs=2", "--save", self.path("whole"))
        self.assertEqual(self.read("whole"), self.read("part"))
        self.assertEqual([path[-18:-12] for path in old], ["000010", "000012"])

    def test_a_run_that_goes_on_elsewhere_replaces_them_too(self):
        self.train("--epochs=1", "--checkpoint", self.path("a"))
        self.train("--epochs=6", "--checkpoint", self.path("c"))
        result = self.train("--epochs=2", "--resume", self.path("a"), "--checkpoint", self.path("c"))
        self.assertIn(f"warning: {self.path('c')}: has 2 checkpoints of an earlier run, which the first one of this run replaces\n", result.stderr)
        self.assertEqual([path[-18:-12] for path in self.checkpoints()], ["000004"])

    def test_an_earlier_run_stays_until_there_is_a_new_checkpoint(self):
        self.train("--epochs=2", "--checkpoint", self.path("c"))
        before = {path: self.read(path) for path in self.checkpoints()}
        self.fails("train", self.model, "--data", self.data, *self.OPTIONS, "--epochs=2", "--checkpoint", self.path("c"),
                   "--early-stop", "monitor=none", message="the metric 'none' is not measured")  # fmt: skip
        self.assertEqual(before, {path: self.read(path) for path in self.checkpoints()})

    def test_two_runs_do_not_share_a_folder(self):
        process = subprocess.Popen(
            [linear.TOOL, "train", self.model, "--data", self.data, *self.OPTIONS, "--epochs=1000000000",
             "--checkpoint", self.path("c")],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.assertIn("Epoch 1/", process.stderr.readline())
        self.fails("train", self.model, "--data", self.data, "--checkpoint", self.path("c"),
                   message="c: another run writes its checkpoints there; expected a folder of its own")  # fmt: skip
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.train("--epochs=1", "--checkpoint", self.path("c"))

    def test_damaged_checkpoint_is_skipped(self):
        self.train("--epochs=3", "--checkpoint", self.path("c"))
        older, newest = self.checkpoints()
        with open(newest, "rb") as handle:
            content = bytearray(handle.read())
        random.seed(2)
        for place in random.sample(range(len(content)), 40):
            damaged = bytearray(content)
            damaged[place] ^= 1 << random.randrange(8)
            with open(newest, "wb") as handle:
                handle.write(damaged)
            result = self.train("--epochs=2", "--resume", self.path("c"))
            self.assertIn(f"resumed from {older}", result.stderr)
        for length in [0, 7, 100, len(content) - 1]:
            with open(newest, "wb") as handle:
                handle.write(content[:length])
            result = self.train("--epochs=2", "--resume", self.path("c"))
            self.assertIn(f"resumed from {older}", result.stderr)
        os.remove(older)
        self.fails("train", self.model, "--data", self.data, *self.OPTIONS, "--resume", self.path("c"),
                   message="is damaged|is no checkpoint")  # fmt: skip

    def test_another_run_is_refused(self):
        self.train("--epochs=1", "--checkpoint", self.path("c"))
        self.OPTIONS = ["--batch-size=4", "--seed=8", "--validation-split=0.2"]
        result = self.fails("train", self.model, "--data", self.data, *self.OPTIONS, "--resume", self.path("c"),
                            message="was written with --batch-size 8, not 4")  # fmt: skip
        self.assertIn("was written with --seed 7, not 8", result.stderr)
        self.fails("train", self.model, "--data", self.data, "--resume", self.path("d"),
                   message="d: has no checkpoint")  # fmt: skip

        self.OPTIONS = ["--batch-size=8", "--validation-split=0.2"]
        self.fails("train", self.model, "--data", self.data, *self.OPTIONS, "--resume", self.path("c"),
                   message="was written with --shuffle on and a --seed, not on and no --seed")  # fmt: skip

    def test_another_format_is_refused(self):
        self.train("--epochs=1", "--checkpoint", self.path("c"))
        (newest,) = self.checkpoints()
        with open(newest, "rb") as handle:
            content = handle.read()
        self.assertEqual(content.count(b'"version":"1"'), 1)
        content = re.sub(rb'"crc32c":"........"', b'"crc32c":"00000000"', content.replace(b'"version":"1"', b'"version":"9"'))
        with open(newest, "wb") as handle:
            handle.write(content.replace(b'"crc32c":"00000000"', b'"crc32c":"%08x"' % crc32c(content)))
        refused = "has checkpoint format '9'; expected 1; resume with the mpc-run that wrote it"
        self.fails("train", self.model, "--data", self.data, *self.OPTIONS, "--resume", self.path("c"), message=refused)
        self.fails("inspect", self.model, "--kernels", "--resume", self.path("c"), message=refused)

    def rewrite(self, path, change):
        """Gives `change` the tensors, (dtype, shape, bytes) by name, and writes what it makes of them,
        with a checksum that is right."""
        with open(path, "rb") as handle:
            content = handle.read()
        length = struct.unpack("<Q", content[:8])[0]
        header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
        metadata = header.pop("__metadata__") | {"crc32c": "00000000"}
        tensors = {name: (row["dtype"], row["shape"], data[slice(*row["data_offsets"])]) for name, row in header.items()}
        change(tensors, metadata)
        header, data = {"__metadata__": metadata}, b""
        for name, (dtype, shape, part) in tensors.items():
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
            data += part
        text = json.dumps(header, separators=(",", ":")).encode()
        content = struct.pack("<Q", len(text)) + text + data
        with open(path, "wb") as handle:
            handle.write(content.replace(b'"crc32c":"00000000"', b'"crc32c":"%08x"' % crc32c(content), 1))

    def test_arrays_of_callbacks_are_the_models_variables(self):
        """Whoever writes the checksum anew brings arrays of any name, type and size; nothing is copied."""
        options = ["--early-stop", "monitor=loss,patience=1,restore_best_weights=true"]
        self.train("--epochs=1", "--checkpoint", self.path("c"), *options)
        (path,) = self.checkpoints()
        before = self.read("c", os.path.basename(path))
        kept = []
        self.rewrite(path, lambda tensors, metadata: kept.extend(name for name in tensors if name.startswith("callback/early_stop/")))
        self.assertEqual(len(kept), 3)
        name = kept[0]

        def replaced(dtype, shape, size):
            return lambda tensors, metadata: tensors.update({name: (dtype, shape, b"A" * size)})

        def added(other):
            return lambda tensors, metadata: tensors.update({other: tensors[name]})

        for change, message in [
            (replaced("U8", [1 << 20], 1 << 20), "is of another type or shape"),
            (replaced("F32", [257], 1028), "is of another type or shape"),
            (replaced("F32", [0], 0), "is of another type or shape"),
            (replaced("F64", [1, 1], 8), "is of another type or shape"),
            (added("callback/early_stop/absent"), "the model has no such variable"),
            (added("callback/early_stop"), "the model has no such variable"),
            (added("callback/" + name), "the model has no such variable"),
            (lambda tensors, metadata: tensors.pop(name), "is missing; expected a checkpoint of this compiled model"),
        ]:
            with open(path, "wb") as handle:
                handle.write(before)
            self.rewrite(path, change)
            self.fails("train", self.model, "--data", self.data, *self.OPTIONS, "--epochs=3", *options, "--resume",
                       self.path("c"), message=message)  # fmt: skip
            # Without the option, too: a checkpoint is right or it is not.
            self.fails("train", self.model, "--data", self.data, *self.OPTIONS, "--epochs=3", "--resume",
                       self.path("c"), message=message)  # fmt: skip
        with open(path, "wb") as handle:
            handle.write(before)
        self.rewrite(path, lambda tensors, metadata: None)
        self.train("--epochs=3", "--resume", self.path("c"), *options)

    def recompile(self, old, new):
        """As another command would: other bytes in the library, of the same length."""
        path = self.path("linear.mpc", "liblinear.so")
        with open(path, "rb") as handle:
            content = handle.read()
        self.assertIn(old, content)
        with open(path, "wb") as handle:
            handle.write(content.replace(old, new))

    def test_another_policy_is_refused(self):
        self.train("--epochs=1", "--checkpoint", self.path("c"))
        (newest,) = self.checkpoints()
        before = self.read("c", os.path.basename(newest))
        self.recompile(b"\0float32\0", b"\0float16\0")
        self.fails("train", self.model, "--data", self.data, *self.OPTIONS, "--resume", self.path("c"),
                   message="was written with --policy float32, not float16; expected the same run")  # fmt: skip
        # Checkpoints of before say nothing of it.
        old = re.sub(rb'"crc32c":"........"', b'"crc32c":"00000000"', before.replace(b'"run.--policy"', b'"old.--policy"'))
        with open(newest, "wb") as handle:
            handle.write(old.replace(b'"crc32c":"00000000"', b'"crc32c":"%08x"' % crc32c(old)))
        self.train("--epochs=2", "--resume", self.path("c"))

    def test_another_learning_rate_is_noted(self):
        self.train("--epochs=3", "--save", self.path("whole"))
        self.train("--epochs=1", "--checkpoint", self.path("c"))
        self.assertNotIn("learning rate", self.train("--epochs=2", "--resume", self.path("c")).stderr)
        self.recompile(struct.pack("<d", 0.125), struct.pack("<d", 0.5))
        result = self.train("--epochs=3", "--resume", self.path("c"), "--save", self.path("part"))
        self.assertIn("goes on with its own learning rate; the model was compiled with 0.125 then and with 0.5 now", result.stderr)
        self.assertEqual(self.read("whole"), self.read("part"))

    def test_no_checkpoint_of_a_step_that_spoiled_the_model(self):
        self.x[13, 0] = numpy.nan
        data = self.save("d.npz", features=self.x, y0=self.y)
        options = ["train", self.model, "--data", data, "--batch-size=2", "--shuffle=off", "--epochs=3"]
        for frequency, kept in [("epoch", []), ("1", [5, 6])]:
            result = self.run_tool(*options, "--terminate-on-nan", "--checkpoint", self.path("c"), "--save-freq", frequency)
            self.assertIn("the loss of step 7 is nan; no checkpoint was made of it", result.stderr)
            self.assertEqual([int(re.search("[0-9]{12}", path)[0]) for path in self.checkpoints()], kept)
        result = self.run_tool(*options, "--resume", self.path("c"))
        self.assertRegex(result.stderr, "Epoch 1/3  10/10 ")

    def test_only_reasons_that_are_asked_for_end_a_resumed_run(self):
        stops = ["--early-stop", "monitor=loss,patience=1,min_delta=100"]
        result = self.train("--epochs=9", "--checkpoint", self.path("c"), *stops)
        self.assertIn("stopped after epoch 2: loss did not improve", result.stderr)
        result = self.train("--epochs=9", "--resume", self.path("c"), *stops)
        self.assertNotIn("Epoch", result.stderr)
        result = self.train("--epochs=4", "--resume", self.path("c"))
        self.assertRegex(result.stderr, r"note: .*c: its run stopped \(loss did not improve in 1 epochs.*\); going on")
        self.assertIn("Epoch 4/4", result.stderr)

    def test_checkpoints_are_weights(self):
        self.train("--epochs=2", "--checkpoint", self.path("c"), "--save", self.path("w"))
        last = self.checkpoints()[-1]
        shown = [self.run_tool("evaluate", self.model, "--data", self.data, "--weights", path, "--json").stdout
                 for path in [self.path("w"), last]]  # fmt: skip
        self.assertEqual(shown[0], shown[1])
        content = bytearray(open(last, "rb").read())
        content[-1] ^= 1
        with open(self.path("damaged"), "wb") as handle:
            handle.write(content)
        self.fails("evaluate", self.model, "--data", self.data, "--weights", self.path("damaged"), message="is damaged")

    def test_resume_of_a_finished_run_changes_nothing(self):
        self.train("--epochs=2", "--checkpoint", self.path("c"), "--save", self.path("whole"))
        self.train("--epochs=2", "--resume", self.path("c"), "--save", self.path("part"))
        self.assertEqual(self.read("whole"), self.read("part"))

    def test_resume_of_a_finished_run_writes_its_logs(self):
        self.train("--epochs=2", "--checkpoint", self.path("c"), "--csv-log", self.path("whole.csv"), "--json-log", self.path("whole.jsonl"))
        result = self.train("--epochs=2", "--resume", self.path("c"), "--csv-log", self.path("part.csv"), "--json-log", self.path("part.jsonl"), "--json")
        self.assertEqual(self.read("whole.csv"), self.read("part.csv"))
        self.assertEqual(self.read("whole.jsonl"), self.read("part.jsonl"))
        self.assertEqual(json.loads(result.stdout)["epoch"], 1)

    def test_checkpoints_are_not_replaced_by_results(self):
        self.train("--checkpoint", self.path("c"))
        (path,) = self.checkpoints()
        for option in ("--save", "--csv-log"):
            result = self.train("--epochs=2", "--resume", self.path("c"), option, path, expect=2)
            self.assertIn(f"{option} names {path}, which is a file of --resume; expected another file", result.stderr)
        self.train("--epochs=2", "--resume", self.path("c"), "--csv-log", self.path("c", "log.csv"))

    def test_a_file_where_the_folder_should_be(self):
        self.fails("train", self.model, "--data", self.data, "--checkpoint", self.data,
                   message="cannot be written: Not a directory; expected a folder for checkpoints")  # fmt: skip

    def test_file_size_limit_keeps_the_old_file(self):
        self.train("--epochs=1", "--save", self.path("w"))
        before = self.read("w")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        result = self.run_tool("train", self.model, "--data", self.data, "--save", self.path("w"), expect=1,
                               preexec_fn=limit)  # fmt: skip
        self.assertRegex(result.stderr, "error: .*w: cannot write: File too large")
        self.assertEqual(before, self.read("w"))
        self.assertEqual(glob.glob(self.path(".mpc-write-*")), [])


if __name__ == "__main__":
    linear.main()
