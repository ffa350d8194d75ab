#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc-run predict, evaluate and gradients: the kinds of data, and what is refused."""

import gzip
import json
import os
import zipfile

import numpy

import linear


class Predict(linear.ToolTest):
    def predicted(self, data, *options):
        self.run_tool("predict", self.model, "--inputs", data, "--outputs", self.path("o"), *options)
        return self.load("o")

    def expected(self, x=None):
        return linear.Linear(self.kernel, self.bias).probabilities(self.x if x is None else x)

    def test_outputs_and_aliases(self):
        out = self.predicted(self.data)
        self.assertEqual(sorted(out), ["out0", "probabilities"])
        numpy.testing.assert_allclose(out["out0"], self.expected(), rtol=1e-5, atol=1e-6)
        self.assertTrue((out["out0"] == out["probabilities"]).all())

    def test_batches_do_not_change_results_nor_bytes(self):
        self.predicted(self.data)
        with open(self.path("o"), "rb") as handle:
            first = handle.read()
        self.predicted(self.data, "--batch-size", 7)
        with open(self.path("o"), "rb") as handle:
            self.assertEqual(first, handle.read())

    def test_csv_to_train_with(self):
        with open(self.path("d.csv"), "w") as handle:
            handle.write("length,y0,width,depth,sample_weight\n")
            for row, label in zip(self.x, self.y):
                handle.write(f"{row[0]},{label},{row[1]},{row[2]},0.5\n")
        numpy.testing.assert_allclose(self.predicted(self.path("d.csv"))["out0"], self.expected(), rtol=1e-5, atol=1e-6)

    def test_archive_is_sound(self):
        self.predicted(self.data)
        with zipfile.ZipFile(self.path("o")) as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual({m.date_time for m in archive.infolist()}, {(1980, 1, 1, 0, 0, 0)})

    def test_library_itself_and_positional_name(self):
        data = self.save("x0.npz", x0=self.x)
        self.run_tool("predict", self.path("linear.mpc", "liblinear.so"), "--inputs=" + data,
                      "--outputs=" + self.path("o"))  # fmt: skip
        numpy.testing.assert_allclose(self.load("o")["out0"], self.expected(), rtol=1e-5, atol=1e-6)

    def test_element_types_go_through_float32(self):
        for dtype in ["float64", "float16", "int8", "uint8", "int32", "int64", "bool"]:
            x = (self.x * 3).astype(dtype)
            out = self.predicted(self.save("x.npz", features=x))["out0"]
            numpy.testing.assert_allclose(out, self.expected(x), rtol=1e-5, atol=1e-6)

    def test_compressed_and_fortran_and_big_endian(self):
        numpy.savez_compressed(self.path("z.npz"), features=numpy.asfortranarray(self.x))
        out = self.predicted(self.path("z.npz"))["out0"]
        numpy.testing.assert_allclose(out, self.expected(), rtol=1e-5, atol=1e-6)
        out = self.predicted(self.save("b.npz", features=self.x.astype(">f4")))["out0"]
        numpy.testing.assert_allclose(out, self.expected(), rtol=1e-5, atol=1e-6)

    def test_folder_of_npy(self):
        os.mkdir(self.path("folder"))
        numpy.save(self.path("folder", "features.npy"), self.x)
        out = self.predicted(self.path("folder"))["out0"]
        numpy.testing.assert_allclose(out, self.expected(), rtol=1e-5, atol=1e-6)

    def test_single_npy_and_archive_without_names(self):
        numpy.save(self.path("x.npy"), self.x)
        numpy.savez(self.path("unnamed.npz"), self.x, self.y)
        for name in ["x.npy", "unnamed.npz"]:
            numpy.testing.assert_allclose(self.predicted(self.path(name))["out0"], self.expected(), rtol=1e-5, atol=1e-6)
        named = self.run_tool("evaluate", self.model, "--data", self.data, "--json").stdout
        self.assertEqual(self.run_tool("evaluate", self.model, "--data", self.path("unnamed.npz"), "--json").stdout, named)
        self.fails("evaluate", self.model, "--data", self.path("x.npy"), message="x.npy: has no array for target 'y0'.*it has: x0")
        # A name that is there goes first.
        numpy.savez(self.path("both.npz"), self.x * 2, features=self.x)
        numpy.testing.assert_allclose(self.predicted(self.path("both.npz"))["out0"], self.expected(), rtol=1e-5, atol=1e-6)

    def test_standard_input(self):
        numpy.save(self.path("x.npy"), self.x)
        table = "a,b,c\n" + "".join(",".join(map(repr, row)) + "\n" for row in self.x.tolist())
        with open(self.path("d.csv"), "w") as handle:
            handle.write(table)
        for name in ["x.npy", "d.csv"]:
            with open(self.path(name), "rb") as handle:
                self.run_tool("predict", self.model, "--inputs", "-", "--outputs", self.path("o"), stdin=handle)
            numpy.testing.assert_allclose(self.load("o")["out0"], self.expected(), rtol=1e-5, atol=1e-6)
        piped = self.run_tool("predict", self.model, "--inputs", "-", "--outputs", "-", input=table).stdout
        numpy.testing.assert_allclose(numpy.loadtxt(piped.splitlines()[1:], delimiter=","), self.expected(), rtol=1e-5, atol=1e-6)
        self.assertFalse(os.path.exists("-"))
        with open(self.data, "rb") as handle:
            self.fails("evaluate", self.model, "--data", "-", message="standard input: is an archive; .* name the .npz as a file", stdin=handle)
        with open(self.path("cut.npy"), "wb") as cut, open(self.path("x.npy"), "rb") as whole:
            cut.write(whole.read()[:-4])
        with open(self.path("cut.npy"), "rb") as handle:
            self.fails("predict", self.model, "--inputs", "-", "--outputs", self.path("o"), message="standard input: ", stdin=handle)
        self.fails("predict", self.model, "--inputs", "-", "--outputs", self.path("o"), message="standard input: is empty", input="")
        self.fails("train", self.model, "--data", "-", "--validation-data", "-", message="both name standard input", code=2)

    def test_suffixes_say_what_is_written(self):
        self.run_tool("predict", self.model, "--inputs", self.data, "--outputs", self.path("o.npy"))
        expected = self.predicted(self.data)["out0"]
        written = numpy.load(self.path("o.npy"), allow_pickle=False)
        self.assertEqual((written.dtype, written.tobytes()), (expected.dtype, expected.tobytes()))
        self.run_tool("predict", self.model, "--inputs", self.data, "--outputs", self.path("o.csv"))
        with open(self.path("o.csv")) as handle:
            lines = handle.read().splitlines()
        self.assertEqual(lines[0], ",".join(f"probabilities_{i}" for i in range(4)))
        rows = numpy.array([line.split(",") for line in lines[1:]], numpy.float32)
        self.assertEqual(rows.tobytes(), expected.tobytes())  # the shortest digits that read back
        self.run_tool("predict", self.model, "--inputs", self.data, "--outputs", "/dev/null")
        for name in ["o.txt", "o.csv.gz", "o.h5", "o.NPZ"]:
            self.fails("predict", self.model, "--inputs", self.data, "--outputs", self.path(name), code=2,
                       message=f"--outputs is '.*{name}', a name with an unknown suffix; expected one of .npz, .npy, .csv")  # fmt: skip
            self.assertFalse(os.path.exists(self.path(name)))
        for name in ["g.npy", "g.csv"]:
            self.fails("gradients", self.model, "--data", self.data, "--outputs", self.path(name), code=2, message="expected .npz")
        self.fails("gradients", self.model, "--data", self.data, "--outputs", "-", code=2, message="--outputs is '-'; expected a file")
        self.fails("train", self.model, "--data", self.data, "--save", self.path("w.h5"), code=2, message="--save .* expected .safetensors")
        self.fails("train", self.model, "--data", self.data, "--trace", self.path("t.csv"), code=2, message="--trace .* expected .npz")

    def test_csv_with_numbered_columns(self):
        """x0, x1, ... are the only input's values, though the input itself may be called x0."""
        for header in ["x0,x1,x2", "x2,x0,x1", "id,x1,x0,x2", "x0,width,depth"]:
            names = header.split(",")
            with open(self.path("d.csv"), "w") as handle:
                handle.write(header + ",y0\n")
                for row, label in zip(self.x, self.y):
                    values = dict(zip(["x0", "x1", "x2"], row), id=7, width=row[1], depth=row[2])
                    handle.write(",".join(str(values[name]) for name in names) + f",{label}\n")
            numpy.testing.assert_allclose(self.predicted(self.path("d.csv"))["out0"], self.expected(), rtol=1e-5, atol=1e-6)
            named = json.loads(self.run_tool("evaluate", self.model, "--data", self.data, "--json").stdout)
            found = json.loads(self.run_tool("evaluate", self.model, "--data", self.path("d.csv"), "--json").stdout)
            self.assertEqual(found, named)

    def test_csv_numbers_that_round_to_zero(self):
        with open(self.path("d.csv"), "w") as handle:
            handle.write("a,b,c\n1e-400,-1e-500,0\n")
        out = self.predicted(self.path("d.csv"))["out0"]
        numpy.testing.assert_allclose(out, self.expected(numpy.zeros((1, 3), numpy.float32)), rtol=1e-5, atol=1e-6)
        with open(self.path("d.csv"), "w") as handle:
            handle.write("a,b,c\n1e400,0,0\n")
        self.fails("predict", self.model, "--inputs", self.path("d.csv"), "--outputs", self.path("o"), message="column 'a' holds '1e400'; expected a number")

    def test_weights_option(self):
        linear.write_safetensors(
            self.path("w"),
            {
                "dense/kernel": numpy.zeros((3, 4)),
                "dense/bias": numpy.zeros(4, numpy.float16),
                "norm/moving_mean": self.mean,
                "optimizer/adam/iteration": numpy.zeros((), numpy.int64),
            },
        )
        result = self.run_tool("predict", self.model, "--inputs", self.data, "--outputs",
                               self.path("o"), "--weights", self.path("w"))  # fmt: skip
        self.assertIn("1 optimizer variables are of another optimizer", result.stderr)
        self.assertRegex(result.stderr, r"w: (\d+) of the \1 variables of the model's optimizer are not in it and start anew")
        self.assertTrue((self.load("o")["out0"] == 0.25).all())

    def test_wrong_weights_are_all_named(self):
        linear.write_safetensors(
            self.path("w"),
            {"dense/kernel": numpy.zeros((4, 3)), "other": numpy.zeros(1), "dense/bias": self.bias},
        )
        result = self.fails("predict", self.model, "--inputs", self.data, "--outputs",
                            self.path("o"), "--weights", self.path("w"),
                            message=r"w:dense/kernel: has shape \[4, 3\]; expected \[3, 4\]")  # fmt: skip
        self.assertRegex(result.stderr, "w:other: the model linear has no such variable")
        self.assertRegex(result.stderr, "w:norm/moving_mean: is missing")
        self.assertFalse(os.path.exists(self.path("o")))

    def refused(self, message, **arrays):
        self.fails("predict", self.model, "--inputs", self.save("bad.npz", **arrays), "--outputs",
                   self.path("never"), message=message)  # fmt: skip
        self.assertFalse(os.path.exists(self.path("never")))

    def test_refused_data(self):
        self.refused("no array for input 'features' or 'x0'.*it has: a, b", a=self.x, b=self.y)
        self.refused(r"bad.npz:features: has shape \[20, 2\]; expected \[batch, 3\]", features=self.x[:, :2])
        self.refused(r"has shape \[20\]", features=self.x[:, 0])
        self.refused("has no rows", features=self.x[:0])
        self.refused("holds Python objects", features=self.x.astype(object))
        self.refused("has dtype '<c16'", features=self.x.astype(complex))

    def test_refused_files(self):
        for name, content, message in [
            ("absent.npz", None, "absent.npz: cannot open: No such file"),
            ("cut.npz", b"PK\x03\x04 and nothing more", "cut.npz: is no readable .npz"),
            ("noise.bin", bytes(range(256)), "noise.bin: is neither .npz nor text"),
            ("empty.csv", b"", "empty.csv: is empty"),
        ]:
            if content is not None:
                with open(self.path(name), "wb") as handle:
                    handle.write(content)
            self.fails("predict", self.model, "--inputs", self.path(name), "--outputs",
                       self.path("o"), message=message)  # fmt: skip

    def overlap(self, path):
        """The second entry of the directory names the first one's place."""
        with open(path, "rb") as handle:
            data = bytearray(handle.read())
        first = data.index(b"PK\x01\x02")
        second = data.index(b"PK\x01\x02", first + 4)
        data[second + 42 : second + 46] = data[first + 42 : first + 46]
        with open(path, "wb") as handle:
            handle.write(data)

    def test_overlapping_members(self):
        path = self.save("bomb.npz", features=self.x, other=self.x)
        self.overlap(path)
        self.fails("predict", self.model, "--inputs", path, "--outputs", self.path("o"),
                   message="bomb.npz:(features|other).npy: ")  # fmt: skip

    def test_members_that_nobody_asks_for_are_not_read(self):
        path = self.save("more.npz", features=self.x)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("other.npy", b"no array")
            archive.writestr("y0.npy", b"no array either")
        self.predicted(path)
        self.fails("evaluate", self.model, "--data", path, message="more.npz:y0: is no sound .npy")

    def test_output_that_cannot_be_written(self):
        self.fails("predict", self.model, "--inputs", self.data, "--outputs",
                   self.path("no", "such", "o.npz"), message="o.npz: cannot create")  # fmt: skip


class Evaluate(linear.ToolTest):
    def evaluated(self, data, *options):
        result = self.run_tool("evaluate", self.model, "--data", data, "--json", *options)
        return json.loads(result.stdout)

    def check(self, data, *options, weights=None):
        model = linear.Linear(self.kernel, self.bias)
        got = self.evaluated(data, *options)
        self.assertEqual(list(got), ["loss", "accuracy"])
        self.assertAlmostEqual(got["loss"], model.loss(self.x, self.y, weights), places=5)
        self.assertAlmostEqual(got["accuracy"], model.accuracy(self.x, self.y), places=6)

    def test_npz(self):
        self.check(self.data)
        self.check(self.data, "--batch-size", 1)
        result = self.run_tool("evaluate", self.model, "--data", self.data)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"^loss \d+\.\d{4}  accuracy 0\.\d{4}\n$")

    def test_output_name_and_int64_and_column_of_labels(self):
        self.check(self.save("d.npz", features=self.x, probabilities=self.y.astype("int64")[:, None]))

    def test_sample_weight(self):
        weights = numpy.linspace(0, 2, 20)
        data = self.save("d.npz", features=self.x, y0=self.y, sample_weight=weights)
        self.check(data, weights=weights)

    def test_csv_by_order(self):
        with open(self.path("d.csv"), "w") as handle:
            handle.write("length,y0,\"width\",depth\r\n")
            for row, label in zip(self.x, self.y):
                handle.write(f"{row[0]},{label},{row[1]!r},{row[2]}\r\n")
        self.check(self.path("d.csv"))

    def test_csv_by_name(self):
        with open(self.path("d.csv"), "w") as handle:
            handle.write("features_2,features_1,features_0,unused,probabilities\n")
            for row, label in zip(self.x, self.y):
                handle.write(f"{row[2]},{row[1]},{row[0]},7,{label}\n")
        self.check(self.path("d.csv"))

    def test_csv_faults_name_line_and_column(self):
        with open(self.path("d.csv"), "w") as handle:
            handle.write("a,b,c,y0\n1,2,3,0\n1,two,3,0\n1,,3,0\n")
        result = self.fails("evaluate", self.model, "--data", self.path("d.csv"),
                            message="d.csv:3: column 'b' holds 'two'; expected a number")  # fmt: skip
        self.assertIn("d.csv:4: column 'b' holds ''", result.stderr)
        with open(self.path("d.csv"), "w") as handle:
            handle.write("a,b,c,y0\n1,2,3\n")
        self.fails("evaluate", self.model, "--data", self.path("d.csv"), message="d.csv:2: has 3 cells")
        with open(self.path("d.csv"), "w") as handle:
            handle.write("a,b,y0\n1,2,3\n")
        self.fails("evaluate", self.model, "--data", self.path("d.csv"), message="2 feature columns; expected 3")
        # A name in a file is no command to the terminal.
        with open(self.path("d.csv"), "wb") as handle:
            handle.write(b"a,\x1b]0;title\x07\n1,\x1b[2J\n")
        result = self.fails("evaluate", self.model, "--data", self.path("d.csv"), message="holds")
        self.assertIn(r"column '\x1b]0;title\x07' holds '\x1b[2J'", result.stderr)

    def write_idx(self, name, array, opener=open):
        with opener(self.path("mnist", name), "wb") as handle:
            handle.write(bytes([0, 0, 8, array.ndim]))
            for size in array.shape:
                handle.write(size.to_bytes(4, "big"))
            handle.write(array.astype("uint8").tobytes())

    def test_mnist_folder(self):
        os.mkdir(self.path("mnist"))
        random = numpy.random.default_rng(2)
        test, train = random.integers(0, 256, (20, 1, 3)), random.integers(0, 256, (5, 1, 3))
        self.write_idx("t10k-images-idx3-ubyte", test)
        self.write_idx("t10k-labels-idx1-ubyte.gz", self.y, gzip.open)
        self.write_idx("train-images-idx3-ubyte.gz", train, gzip.open)
        self.write_idx("train-labels-idx1-ubyte", self.y[:5])
        result = self.run_tool("evaluate", self.model, "--data", self.path("mnist"), "--json")
        self.assertRegex(result.stderr, r"bytes become float32 in \[0, 1\], shape \[20, 3\]")
        model = linear.Linear(self.kernel, self.bias)
        x = test.reshape(20, 3).astype("float32") / numpy.float32(255)
        self.assertAlmostEqual(json.loads(result.stdout)["loss"], model.loss(x, self.y), places=5)
        result = self.run_tool("train", self.model, "--data", self.path("mnist"), "--epochs=1")
        self.assertRegex(result.stderr, r"train-images-idx3-ubyte.gz: \[5, 1, 3\] of uint8")

    def test_damaged_idx(self):
        os.mkdir(self.path("mnist"))
        for name in ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]:
            with open(self.path("mnist", name), "wb") as handle:
                handle.write(bytes([0, 0, 8, 1, 255, 255, 255, 255]))
        result = self.fails("evaluate", self.model, "--data", self.path("mnist"),
                            message="images-idx3-ubyte: is no sound IDX file")  # fmt: skip
        self.assertIn("labels-idx1-ubyte: is no sound IDX file", result.stderr)

    def test_all_faults_at_once(self):
        data = self.save("d.npz", features=self.x[:, :2], y0=self.y.astype("float32"))
        result = self.fails("evaluate", self.model, "--data", data, message="d.npz:features: has shape")
        self.assertIn("d.npz:y0: is float32; expected int32 for target 'y0'", result.stderr)

    def test_labels_out_of_range(self):
        for value in [4, -1]:
            self.y[13] = value
            data = self.save("d.npz", features=self.x, y0=self.y)
            self.fails("evaluate", self.model, "--data", data,
                       message=f"d.npz:y0: row 13 is {value}; expected values from 0 to 3")  # fmt: skip

    def test_unequal_rows(self):
        data = self.save("d.npz", features=self.x, y0=self.y[:19])
        self.fails("evaluate", self.model, "--data", data, message="d.npz:y0: has 19 rows; expected 20")


class Gradients(linear.ToolTest):
    def test_values(self):
        weights = numpy.linspace(0.5, 1.5, 20).astype("float32")
        data = self.save("d.npz", features=self.x, y0=self.y, sample_weight=weights)
        self.run_tool("gradients", self.model, "--data", data, "--outputs", self.path("g.npz"))
        got = self.load("g.npz")
        model = linear.Linear(self.kernel, self.bias)
        kernel, bias, features = model.gradients(self.x, self.y, weights)
        close = dict(rtol=1e-4, atol=1e-6)
        numpy.testing.assert_allclose(got["loss"], model.loss(self.x, self.y, weights), **close)
        numpy.testing.assert_allclose(got["grad:dense/kernel"], kernel, **close)
        numpy.testing.assert_allclose(got["grad:dense/bias"], bias, **close)
        numpy.testing.assert_allclose(got["gradx:features"], features, **close)
        numpy.testing.assert_allclose(got["out0"], model.probabilities(self.x), **close)
        numpy.testing.assert_allclose(got["after:norm/moving_mean"], self.x.mean(0) / 4, **close)
        self.assertEqual(got["loss"].shape, ())
        self.assertEqual(len(got), 6)


if __name__ == "__main__":
    linear.main()
