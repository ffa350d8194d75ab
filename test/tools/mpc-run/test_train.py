#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc-run train: the loop's numbers against NumPy, logs, callbacks, traces."""

import csv
import glob
import json
import os
import re
import struct
import threading

import numpy

import linear


class Train(linear.ToolTest):
    def train(self, *options, data=None, expect=0):
        return self.run_tool("train", self.model, "--data", data or self.data, *options, expect=expect)

    def history(self, *options, **keywords):
        result = self.train("--json", *options, **keywords)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def model_of(self, seed=0):
        return linear.Linear(self.kernel, self.bias, seed)

    def assert_weights(self, model, path):
        saved = linear.read_safetensors(path)
        for name, value in [
            ("dense/kernel", model.kernel),
            ("dense/bias", model.bias),
            ("norm/moving_mean", model.mean),
            ("optimizer/sgd/dense_kernel_momentum", model.kernel_momentum),
            ("optimizer/sgd/iteration", model.iterations),
            ("optimizer/loss_scale_optimizer/dynamic_scale", model.scale),
        ]:
            numpy.testing.assert_allclose(saved[name], value, rtol=1e-4, atol=1e-5, err_msg=name)

    def test_epochs_in_order_with_a_smaller_last_batch(self):
        history = self.history("--epochs=3", "--batch-size=8", "--shuffle=off", "--save", self.path("w"))
        model = self.model_of()
        for epoch in range(3):
            total = 0
            for begin in range(0, 20, 8):
                x, y = self.x[begin : begin + 8], self.y[begin : begin + 8]
                total += model.step(x, y) * len(x)
            self.assertEqual(list(history[epoch]), ["epoch", "loss", "accuracy"])
            self.assertAlmostEqual(history[epoch]["loss"], total / 20, places=5)
        self.assert_weights(model, self.path("w"))

    def test_trace_is_train_on_batch(self):
        weights = numpy.linspace(0.5, 2, 20).astype("float32")
        data = self.save("d.npz", features=self.x, y0=self.y, sample_weight=weights)
        self.train("--steps=12", "--batch-size=8", "--shuffle=off", "--epochs=1", "--trace",
                   self.path("t.npz"), data=data)  # fmt: skip
        trace, model = self.load("t.npz"), self.model_of()
        self.assertEqual(trace["loss"].dtype, numpy.float32)
        self.assertEqual(trace["iterations"].dtype, numpy.int64)
        self.assertEqual(trace["changed"].dtype, bool)
        for step in range(12):
            rows = (step * 8 + numpy.arange(8)) % 20
            accuracy = model.accuracy(self.x[rows], self.y[rows])
            loss = model.step(self.x[rows], self.y[rows], weights[rows])
            self.assertAlmostEqual(trace["loss"][step], loss, places=5)
            self.assertAlmostEqual(trace["metric:accuracy"][step], accuracy, places=6)
            self.assertEqual(trace["dynamic_scale"][step], model.scale)
            self.assertEqual(trace["step_counter"][step], model.counter)
            self.assertEqual(trace["iterations"][step], model.iterations)
        self.assertTrue((trace["learning_rate"] == 0.125).all())
        self.assertTrue(trace["changed"].all())
        numpy.testing.assert_allclose(trace["final:dense/kernel"], model.kernel, rtol=1e-4, atol=1e-5)
        numpy.testing.assert_allclose(trace["final:norm/moving_mean"], model.mean, rtol=1e-4, atol=1e-5)
        self.assertEqual(trace["opt:sgd/iteration"], 12)
        self.assertEqual(
            {name for name in trace if ":" not in name},
            {"loss", "learning_rate", "changed", "dynamic_scale", "step_counter", "iterations"},
        )
        self.assertEqual(sum(name.startswith("opt:") for name in trace), 8)

    def test_skipped_steps(self):
        self.x[9, 1] = numpy.inf
        data = self.save("d.npz", features=self.x, y0=self.y)
        result = self.train("--steps=5", "--batch-size=4", "--shuffle=off", "--trace",
                            self.path("t.npz"), data=data)  # fmt: skip
        trace = self.load("t.npz")
        self.assertEqual(trace["changed"].tolist(), [True, True, False, True, True])
        self.assertEqual(trace["dynamic_scale"].tolist(), [1024, 1024, 512, 512, 512])
        self.assertEqual(trace["iterations"].tolist(), [1, 2, 2, 3, 4])
        self.assertIn("scale 512  skipped 1", result.stderr)

    def test_endless_skipping_is_diagnosed(self):
        data = self.save("d.npz", features=self.x * numpy.inf, y0=self.y)
        result = self.train("--steps=150", "--batch-size=4", data=data)
        # The loss is no number, which no smaller scale mends: said after three steps, once, by input.
        (line,) = [line for line in result.stderr.splitlines() if "steps in a row" in line]
        self.assertRegex(line, r"^warning: step 3: 3 steps in a row were skipped.*; the input 'features' has values that "
                               r"are not finite, in row \d+ of the data")  # fmt: skip

    def test_rows_that_fail_in_each_epoch_are_named(self):
        """One row in each epoch halves the scale for good; with shuffled rows it is soon alone."""
        self.x[13, 0] = numpy.inf
        data = self.save("d.npz", features=self.x, y0=self.y)
        result = self.train("--epochs=20", "--batch-size=10", "--seed=1", data=data)
        (line,) = [line for line in result.stderr.splitlines() if "each time by steps with the same rows" in line]
        self.assertRegex(line, r"^warning: the loss scale fell in each of \d+ epochs, each time by steps with the same rows "
                               r"of the data \(from 0\): (\d+, )*13[,;]")  # fmt: skip
        # 1024 is halved ten times and once more: below 1 it is said, once.
        self.assertEqual(result.stderr.count("the loss scale has fallen below 1"), 1)
        # Rows that are well say nothing.
        self.x[13, 0] = 0
        result = self.train("--epochs=20", "--batch-size=10", data=self.save("d.npz", features=self.x, y0=self.y))
        self.assertNotIn("warning", result.stderr)

    def test_trace_does_not_change_the_epoch(self):
        plain = self.history("--epochs=2", "--batch-size=8", "--save", self.path("a"))
        traced = self.history("--epochs=2", "--batch-size=8", "--save", self.path("b"),
                              "--trace", self.path("t.npz"))  # fmt: skip
        self.assertEqual(plain, traced)
        with open(self.path("a"), "rb") as a, open(self.path("b"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_shuffling_takes_every_row_once(self):
        # With one row per step the trace shows which rows were taken.
        orders = []
        for options in (["--epochs=2"], ["--epochs=2"], ["--epochs=2", "--seed=1"]):
            features = numpy.zeros((20, 3), "float32")
            weights = numpy.arange(1, 21).astype("float32")
            linear.write_safetensors(
                self.path("zero"),
                {
                    "dense/kernel": numpy.zeros((3, 4), "float32"),
                    "dense/bias": numpy.zeros(4, "float32"),
                    "norm/moving_mean": self.mean,
                    "optimizer/sgd/learning_rate": numpy.zeros((), "float32"),
                },
            )
            data = self.save("d.npz", features=features, y0=self.y, sample_weight=weights)
            self.train("--batch-size=1", "--weights", self.path("zero"), "--trace",
                       self.path("t.npz"), *options, data=data)  # fmt: skip
            rows = numpy.rint(self.load("t.npz")["loss"] / numpy.log(4)).astype(int)
            self.assertEqual(sorted(rows[:20]), list(range(1, 21)))
            self.assertEqual(sorted(rows[20:]), list(range(1, 21)))
            # With a seed Keras's fit repeats its order; without one each epoch has its own.
            if any("--seed" in str(option) for option in options):
                self.assertEqual(rows[:20].tolist(), rows[20:].tolist())
            else:
                self.assertNotEqual(rows[:20].tolist(), rows[20:].tolist())
            self.assertNotEqual(rows[:20].tolist(), list(range(1, 21)))
            orders.append(rows.tolist())
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])

    def test_validation_split_takes_the_last_rows(self):
        history = self.history("--epochs=2", "--batch-size=8", "--shuffle=off", "--validation-split=0.3")
        model = self.model_of()
        for epoch in range(2):
            for begin, end in [(0, 8), (8, 14)]:
                model.step(self.x[begin:end], self.y[begin:end])
            self.assertAlmostEqual(history[epoch]["val_loss"], model.loss(self.x[14:], self.y[14:]), places=5)
            self.assertAlmostEqual(
                history[epoch]["val_accuracy"], model.accuracy(self.x[14:], self.y[14:]), places=6
            )
        self.assertEqual(list(history[0]), ["epoch", "loss", "accuracy", "val_loss", "val_accuracy"])

    def test_validation_data(self):
        other = self.save("v.npz", features=self.x[:5], y0=self.y[:5])
        history = self.history("--epochs=1", "--shuffle=off", "--validation-data", other)
        model = self.model_of()
        model.step(self.x, self.y)
        self.assertAlmostEqual(history[0]["val_loss"], model.loss(self.x[:5], self.y[:5]), places=5)
        self.fails("train", self.model, "--data", self.data, "--validation-split=0.99",
                   message="leaves none to train on")  # fmt: skip

    def test_class_weight(self):
        with open(self.path("c.json"), "w") as handle:
            handle.write('{"0": 2.0, "2": 0.5}')
        history = self.history("--shuffle=off", "--class-weight", self.path("c.json"))
        weights = numpy.array([2.0, 1.0, 0.5, 1.0])[self.y]
        self.assertAlmostEqual(history[0]["loss"], self.model_of().loss(self.x, self.y, weights), places=5)
        with open(self.path("c.json"), "w") as handle:
            handle.write('{"cat": 2.0, "1": "x"}')
        self.fails("train", self.model, "--data", self.data, "--class-weight", self.path("c.json"),
                   message="c.json:cat: is no class index")  # fmt: skip
        with open(self.path("c.json"), "w") as handle:
            handle.write('{"0": 1e39, "1": -1}')
        result = self.fails("train", self.model, "--data", self.data, "--class-weight", self.path("c.json"),
                            message="c.json:0: has no weight from 0 on that float32 can hold")  # fmt: skip
        self.assertIn("c.json:1: has no weight", result.stderr)

    def test_faults_of_both_sets_at_once(self):
        bad = self.save("bad.npz", features=self.x[:, :1], y0=self.y)
        result = self.fails("train", self.model, "--data", bad, "--validation-data", self.path("none.npz"),
                            message=r"bad.npz:features: has shape \[20, 1\]")  # fmt: skip
        self.assertIn("none.npz: cannot open", result.stderr)

    def test_unused_arrays_are_named(self):
        data = self.save("d.npz", features=self.x, y0=self.y, sample_weights=self.y)
        result = self.train(data=data)
        self.assertIn("note: " + data + ": ignored, since the model has no such input or target: sample_weights",
                      result.stderr)  # fmt: skip

    def test_initialize(self):
        values = []
        for options in (["--initialize"], ["--initialize=0"], ["--initialize=5"]):
            self.train("--steps=1", "--save", self.path("w"), *options)
            values.append(linear.read_safetensors(self.path("w"))["dense/kernel"].tolist())
        self.assertEqual(values[0], values[1])
        self.assertNotEqual(values[0], values[2])

    def test_seed_reaches_random_layers(self):
        for seed in [0, 3]:
            self.train("--steps=4", "--shuffle=off", "--batch-size=20", f"--seed={seed}", "--save", self.path("w"))
            model = self.model_of(seed)
            for _ in range(4):
                model.step(self.x, self.y)
            self.assert_weights(model, self.path("w"))

    def test_saved_weights_go_on(self):
        self.train("--steps=6", "--shuffle=off", "--batch-size=20", "--save", self.path("whole"))
        self.train("--steps=3", "--shuffle=off", "--batch-size=20", "--save", self.path("half"))
        result = self.train("--steps=3", "--shuffle=off", "--batch-size=20", "--weights",
                            self.path("half"), "--save", self.path("rest"))  # fmt: skip
        self.assertNotIn("ignored", result.stderr)
        whole = linear.read_safetensors(self.path("whole"))
        rest = linear.read_safetensors(self.path("rest"))
        self.assertEqual(whole["optimizer/sgd/iteration"], rest["optimizer/sgd/iteration"])

    def test_logs(self):
        self.train("--epochs=3", "--validation-split=0.5", "--csv-log", self.path("log.csv"),
                   "--json-log", self.path("log.jsonl"), "--tensorboard", self.path("tb"))  # fmt: skip
        with open(self.path("log.csv"), newline="") as handle:
            rows = list(csv.DictReader(handle))
        with open(self.path("log.jsonl")) as handle:
            lines = [json.loads(line) for line in handle]
        self.assertEqual(list(rows[0]), ["epoch", "accuracy", "loss", "val_accuracy", "val_loss"])
        self.assertEqual([row["epoch"] for row in rows], ["0", "1", "2"])
        for row, line in zip(rows, lines):
            for name in row:
                self.assertEqual(float(row[name]), line[name])
        events = {}
        for part in ["train", "validation"]:
            (path,) = glob.glob(self.path("tb", part, "events.out.tfevents.*"))
            events[part] = read_events(path)
        self.assertEqual(
            [(step, tag) for step, tag, _ in events["train"]],
            [(step, tag) for step in range(3) for tag in ["epoch_loss", "epoch_accuracy"]],
        )
        self.assertEqual(
            [numpy.float32(line["val_loss"]) for line in lines],
            [value for _, tag, value in events["validation"] if tag == "epoch_loss"],
        )

    def test_plain_progress(self):
        result = self.train("--epochs=2", "--batch-size=8")
        self.assertEqual(result.stdout, "")
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(
            lines[0],
            r"^Epoch 1/2  3/3  \S+ \S+/step  \S+ samples/s  loss \d\.\d{4}  accuracy 0\.\d{4}  "
            r"scale 2048  skipped 0  eta \d+s$",
        )

    def test_early_stop(self):
        # Without a learning rate nothing improves: epochs 1 .. 3 are waited for.
        self.stop_learning()
        history = self.history("--epochs=9", "--early-stop", "monitor=loss,patience=3", "--weights", self.path("s"),
                               "--shuffle=off")  # fmt: skip
        self.assertEqual(len(history), 4)
        result = self.train("--epochs=9", "--early-stop", "monitor=loss,patience=3", "--weights", self.path("s"), "--shuffle=off")
        self.assertIn("stopped after epoch 4: loss did not improve in 3 epochs", result.stderr)
        for option in ["--early-stop", "--reduce-lr"]:
            result = self.fails("train", self.model, "--data", self.data, option, "monitor=val_loss", "--json",
                                message=rf"(?s){option}: the metric 'val_loss' is not measured; expected one of: loss, accuracy")  # fmt: skip
            self.assertEqual(result.stdout, "")  # known before the first epoch
        self.train("--validation-split=0.2", "--early-stop", "monitor=val_loss", "--reduce-lr", "monitor=val_accuracy")
        self.train("--early-stop", "monitor=learning_rate", "--reduce-lr", "monitor=loss")

    def assert_best_weights(self, path):
        first, last = linear.read_safetensors(self.path("first")), linear.read_safetensors(path)
        for name in ("dense/kernel", "dense/bias", "norm/moving_mean"):
            numpy.testing.assert_array_equal(last[name], first[name], err_msg=name)
        self.assertGreater(last["optimizer/sgd/iteration"], first["optimizer/sgd/iteration"])

    def test_early_stop_restores_the_best_weights(self):
        self.stop_learning()  # so that the first epoch is the best one; the mean goes on
        options = ["--weights", self.path("s"), "--shuffle=off", "--early-stop"]
        stop = "monitor=loss,patience=3,restore_best_weights="
        self.train("--epochs=1", *options, stop + "true", "--save", self.path("first"))
        self.train("--epochs=9", *options, stop + "true", "--save", self.path("best"))
        self.assert_best_weights(self.path("best"))
        self.train("--epochs=9", *options, stop + "false", "--save", self.path("last"))
        self.assertFalse((linear.read_safetensors(self.path("last"))["norm/moving_mean"] == linear.read_safetensors(self.path("first"))["norm/moving_mean"]).all())
        # A checkpoint has them, too, and is a weights file all the same.
        self.train("--epochs=2", *options, stop + "true", "--checkpoint", self.path("c"))
        self.train("--epochs=9", "--shuffle=off", "--early-stop", stop + "true", "--resume", self.path("c"), "--save", self.path("resumed"))
        self.assert_best_weights(self.path("resumed"))
        (newest, *_) = sorted(glob.glob(self.path("c/*.safetensors")), reverse=True)
        self.train("--epochs=1", "--weights", newest)
        self.fails("train", self.model, "--data", self.data, "--early-stop", "monitor=loss,restore_best_weights=1",
                   code=2, message="restore_best_weights is '1'; expected true or false")

    def test_early_stop_with_a_baseline(self):
        self.stop_learning()  # the first epoch is the best one, and counts as one of patience where it misses the baseline
        for baseline, epochs in [(1e9, 4), (0, 3)]:
            history = self.history("--epochs=6", "--shuffle=off", "--weights", self.path("s"), "--early-stop",
                                   f"monitor=loss,patience=3,baseline={baseline}")  # fmt: skip
            self.assertEqual(len(history), epochs)

    def stop_learning(self):
        linear.write_safetensors(
            self.path("s"),
            {
                "dense/kernel": self.kernel,
                "dense/bias": self.bias,
                "norm/moving_mean": self.mean,
                "optimizer/sgd/learning_rate": numpy.float32(1e-30).reshape(()),
            },
        )

    def test_reduce_learning_rate(self):
        self.stop_learning()
        history = self.history("--epochs=6", "--shuffle=off", "--weights", self.path("s"), "--reduce-lr",
                               "monitor=loss,factor=0.5,patience=2", "--save", self.path("w"))  # fmt: skip
        rates = [round(line["learning_rate"] / numpy.float32(1e-30), 6) for line in history]
        self.assertEqual(rates, [1, 1, 1, 0.5, 0.5, 0.25])

    def test_reduce_learning_rate_takes_the_size_of_min_delta(self):
        # As Keras's callbacks: 0.5 is asked for either way, and nothing improves by as much.
        for delta in ("0.5", "-0.5"):
            history = self.history("--epochs=4", "--shuffle=off", "--reduce-lr", f"monitor=loss,factor=0.5,patience=1,min_delta={delta}")
            rates = [line["learning_rate"] / history[0]["learning_rate"] for line in history]
            self.assertEqual([round(rate, 6) for rate in rates], [1, 1, 0.5, 0.25])

    def test_terminate_on_nan(self):
        self.x[3, 0] = numpy.nan
        data = self.save("d.npz", features=self.x, y0=self.y)
        result = self.train("--epochs=3", "--batch-size=2", "--shuffle=off", "--terminate-on-nan", "--json", data=data)
        self.assertIn("the loss of step 2 is nan", result.stderr)
        (line,) = map(json.loads, result.stdout.splitlines())
        self.assertEqual(line["loss"], "nan")
        self.assertRegex(result.stderr, "Epoch 1/3  2/10 .* eta 0s\n")  # the steps that were done

    def test_files_that_would_replace_each_other(self):
        linear.write_safetensors(self.path("w"), {})
        os.symlink("w", self.path("link"))
        for one, other in [("save", "trace"), ("csv-log", "json-log"), ("json-log", "save")]:
            for path in [self.path("w"), self.path(".", "w"), self.path("link")]:
                result = self.train(f"--{one}", self.path("w"), f"--{other}", path, expect=2)
                self.assertIn("both name the file", result.stderr)
        for option in ["--save", "--trace", "--csv-log", "--json-log"]:
            result = self.train(option, self.data, expect=2)
            self.assertIn(f"mpc-run train: {option} and --data both name the file {self.data}; expected another one", result.stderr)
        result = self.run_tool("predict", self.model, "--inputs", self.data, "--outputs", self.data, expect=2)
        self.assertIn("--outputs and --inputs both name the file", result.stderr)
        result = self.run_tool("gradients", self.model, "--data", self.data, "--outputs", self.data, expect=2)
        self.assertIn("--outputs and --data both name the file", result.stderr)
        os.mkdir(self.path("folder"))
        numpy.save(self.path("folder", "features.npy"), self.x)
        numpy.save(self.path("folder", "y0.npy"), self.y)
        for command, option in [("predict", "--inputs"), ("gradients", "--data")]:
            result = self.run_tool(command, self.model, option, self.path("folder"), "--outputs", self.path("folder", "features.npy"), expect=2)
            self.assertIn(f"--outputs names {self.path('folder', 'features.npy')}, which is a file of {option}; expected another file", result.stderr)
            self.run_tool(command, self.model, option, self.path("folder"), "--outputs", self.path("folder", "new.npz"))
            result = self.run_tool(command, self.model, option, self.data, "--weights", self.path("w"), "--outputs", self.path("w"), expect=2)
            self.assertIn("--outputs and --weights both name the file", result.stderr)
            for name in ["liblinear.so", "linear.safetensors", "linear.json", "linear.h"]:
                result = self.run_tool(command, self.model, option, self.data, "--outputs", self.path("linear.mpc", name), expect=2)
                self.assertIn(f"--outputs names {self.path('linear.mpc', name)}, which belongs to the model; expected another file", result.stderr)
        for option in ["--trace", "--csv-log", "--json-log"]:
            result = self.train("--weights", self.path("w"), option, self.path("w"), "--save", self.path("w2"), expect=2)
            self.assertIn(f"{option} and --weights both name the file", result.stderr)
            result = self.train("--weights", self.path("w"), option, self.path("w"), "--save", self.path("w"), expect=2)
            self.assertIn(f"{option} and --save both name the file", result.stderr)
        self.train("--save", self.path("linear.mpc", "liblinear.so"), expect=2)
        self.train("--save", self.path("linear.mpc", "linear.safetensors"))
        self.train("--save", "/dev/null", "--trace", "/dev/null", "--csv-log", "/dev/stderr", "--json-log", "/dev/stderr")
        self.train("--save", self.path("w"))
        self.train("--weights", self.path("w"), "--save", self.path("w"))

    def test_files_that_cannot_be_written_are_named_before_training(self):
        result = self.fails("train", self.model, "--data", self.data, "--save", self.path("no", "w"),
                            "--trace", self.path("no", "t"), message="w: cannot create")  # fmt: skip
        self.assertIn("t: cannot create", result.stderr)
        self.assertNotIn("Epoch", result.stderr)
        result = self.fails("train", self.model, "--data", self.data, "--tensorboard", self.data,
                            message="train: cannot be written: Not a directory; expected a folder for TensorBoard")  # fmt: skip
        self.assertNotIn("Epoch", result.stderr)

    def test_pipes(self):
        os.mkfifo(self.path("pipe"))
        for command, option in [(["predict", "--inputs"], "--outputs"), (["train", "--data"], "--save")]:
            arguments = [command[0], self.model, command[1], self.data, option]
            self.run_tool(*arguments, self.path("file"))
            read = []
            reader = threading.Thread(target=lambda: read.append(open(self.path("pipe"), "rb").read()), daemon=True)
            reader.start()
            self.run_tool(*arguments, self.path("pipe"))
            reader.join(60)
            with open(self.path("file"), "rb") as handle:
                self.assertEqual(read, [handle.read()])

    def test_memory_is_that_of_the_rows(self):
        result = self.train("--batch-size=100000000", "--memory")
        self.assertLess(float(re.search(r"memory: ([\d.]+) MB peak", result.stderr)[1]), 500)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(data):
    """(number, value) of the fields of a protocol buffer message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value = data[at : at + size]
            at += size
        yield key >> 3, value


def read_events(path):
    """(step, tag, value) of an event file; an independent reader of the framing."""
    with open(path, "rb") as handle:
        data = handle.read()
    scalars = []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked_crc(data[:8])
        event = data[12 : 12 + size]
        assert struct.unpack("<I", data[12 + size : 16 + size])[0] == masked_crc(event)
        data = data[16 + size :]
        parts = dict(fields(event))
        if 5 in parts:
            value = dict(fields(dict(fields(parts[5]))[1]))
            (number,) = struct.unpack("<f", value[2])
            scalars.append((parts[2], value[1].decode(), numpy.float32(number)))
        else:
            assert parts[3] == b"brain.Event:2"
    return scalars


if __name__ == "__main__":
    linear.main()
