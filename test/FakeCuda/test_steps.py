#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mpc-run does on a GPU, on the software device: which calls a step makes, what is said when
something is missing, and that the device notices what a GPU would only sometimes notice."""

import json
import os
import re
import sys
import unittest

from software_device import FIXTURES, ROOT, FolderTest, run

CASE = os.path.join(FIXTURES, "keras", "train", "mlp__mixed_float16")


class Steps(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = os.path.join(cls.folder.name, "mlp")
        result = run("mpcc", os.path.join(CASE, "model.keras"), "--target=cuda:sm_80", "--name=mlp",
                     "-o", cls.model, fake=False)  # fmt: skip
        assert result.returncode == 0, result.stderr

    def train(self, *options, **settings):
        return run("mpc-run", "train", self.model, "--data", os.path.join(CASE, "data.npz"),
                   "--shuffle=off", "--batch-size", "8", "--epochs", "1", "--steps", "6",
                   "--device", "cuda:0", *options, **settings)  # fmt: skip

    def test_step_is_one_graph_without_a_wait(self):
        log = os.path.join(self.folder.name, "log")
        result = self.train(MPC_FAKE_CUDA_LOG=log)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(log) as handle:
            lines = handle.read().splitlines()
        graphs = [int(line.split()[-1]) for line in lines if line.startswith("graph of ")]
        recorded = [line for line in lines if line.startswith("record ")]
        # The first of six steps runs plainly; the second is recorded and, as the rest, replayed.
        self.assertEqual(len(graphs), 5, lines)
        self.assertEqual(set(graphs), {len(recorded)})
        # Nothing in a step crosses to the host.
        self.assertFalse([line for line in recorded if "copy" in line], recorded)
        # Between a launch and the next copy to the host nobody waits but for the result.
        for start, line in enumerate(lines):
            if line.startswith("graph of "):
                self.assertEqual(lines[start + 1], "wait", lines[start : start + 3])
        # Six products (the gradients through layers of 10 and 16 units are kernels), a relu that keeps
        # NaN, and a kernel with stages wherever products need what comes between them.
        products = [line for line in recorded if "multiply" in line]
        self.assertEqual(len(products), 6, recorded)
        self.assertLessEqual(len(recorded), 13, recorded)

    def test_relu_of_the_library(self):
        # Where it keeps NaN, which is tried with each product, it is in the product: at most 14 launches.
        launches, weights = [], []
        for keeps in ({}, {"MPC_FAKE_CUBLASLT_RELU_KEEPS_NAN": "1"}):
            log = os.path.join(self.folder.name, f"relu{len(launches)}")
            path = os.path.join(self.folder.name, f"relu{len(launches)}.safetensors")
            result = self.train("--save", path, MPC_FAKE_CUDA_LOG=log, **keeps)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(log) as handle:
                launches.append([line for line in handle.read().splitlines() if line.startswith("record ")])
            with open(path, "rb") as handle:
                weights.append(handle.read())
        self.assertEqual(sum("mpc_relu" in line for line in launches[0]), 1, launches[0])
        self.assertFalse([line for line in launches[1] if "mpc_relu" in line], launches[1])
        self.assertEqual(sum("epilogue 6" in line for line in launches[1]), 1, launches[1])
        self.assertLessEqual(len(launches[1]), 14, launches[1])
        self.assertEqual(weights[0], weights[1])

    def test_products_are_on_tensor_cores(self):
        log = os.path.join(self.folder.name, "products")
        self.assertEqual(self.train(MPC_FAKE_CUDA_LOG=log).returncode, 0)
        with open(log) as handle:
            products = {line for line in handle if line.startswith("record multiply")}
        self.assertTrue(products)
        for line in products:
            # float16 operands, sums in float32, extents that are multiples of 8.
            self.assertIn("type 2 compute 68", line)
            self.assertTrue(all(int(n) % 8 == 0 for n in re.search(r"(\d+)x(\d+)x(\d+)", line).groups()))

    def test_lanes_that_only_wait_for_each_other(self):
        # One lane writes what the others of its warp read: batch normalisation's factors.
        folder = os.path.join(self.folder.name, "cnn")
        result = run("mpcc", os.path.join(ROOT, "benchmarks", "gpu", "cnn.json"), "--policy=mixed_float16", "--initialize",
                     "--loss=sparse_categorical_crossentropy", "--optimizer=rmsprop", "--target=cuda:source", "--name=cnn", "-o", folder, fake=False)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        result = run("mpc-run", "bench", folder, "--train", "--device", "cuda:0", "--batch-size", "2", "--warmup", "1", "--steps", "1")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_products_of_integers_are_on_tensor_cores(self):
        case = os.path.join(FIXTURES, "keras", "quantized", "int8_mlp__float32")
        folder, log = os.path.join(self.folder.name, "int8"), os.path.join(self.folder.name, "integers")
        result = run("mpcc", os.path.join(case, "model.keras"), "--target=cuda:sm_80", "--mode=infer",
                     "--name=m", "-o", folder, fake=False)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        result = run("mpc-run", "predict", folder, "--inputs", os.path.join(case, "data.npz"), "--outputs",
                     os.path.join(self.folder.name, "y.npz"), "--device", "cuda:0", MPC_FAKE_CUDA_LOG=log)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(log) as handle:
            lines = handle.read().splitlines()
        products = [line for line in lines if line.startswith("do multiply")]
        self.assertEqual(len(products), 2, lines)
        for line in products:
            # int8 operands, sums in int32, extents of the kernel that are multiples of 16.
            self.assertIn("type 3 compute 72", line)
            self.assertTrue(all(int(n) % 16 == 0 for n in re.search(r"\d+x(\d+)x(\d+)", line).groups()))
        self.assertFalse([line for line in lines if "mpc_product" in line], lines)

    def test_heuristic_is_asked_once_per_shape(self):
        cache, log = os.path.join(self.folder.name, "cache"), os.path.join(self.folder.name, "asked")

        def asked(**settings):
            open(log, "w").close()
            result = self.train(MPC_FAKE_CUDA_LOG=log, MPC_CACHE=cache, **settings)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(log) as handle:
                return handle.read().splitlines().count("heuristic")

        first = asked()
        self.assertGreater(first, 0)
        self.assertEqual(asked(), 0)
        # Another library, another file.
        self.assertEqual(asked(MPC_FAKE_CUBLASLT_PATCH="1"), first)
        self.assertEqual(asked(MPC_FAKE_CUDA_CAPABILITY="86"), first)
        files = sorted(os.listdir(cache))
        self.assertEqual(len(files), 3, files)
        path = os.path.join(cache, next(name for name in files if "13.1.0-sm_90" in name))
        with open(path) as handle:
            lines = handle.read().splitlines(True)
        self.assertEqual(len(lines), first)
        # One damaged line is asked for again, and the file is whole afterwards.
        with open(path, "w") as handle:
            handle.write(lines[0].replace(" 0", " 1", 1) + "".join(lines[1:]))
        self.assertEqual(asked(), 1)
        with open(path, "wb") as handle:
            handle.write(os.urandom(1000))
        self.assertEqual(asked(), first)
        with open(path) as handle:
            self.assertEqual(handle.read().splitlines(True), lines)
        # Nothing is kept, and nothing is read.
        with open(log, "w"):
            pass
        result = self.train(MPC_FAKE_CUDA_LOG=log, MPC_CACHE="")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(log) as handle:
            self.assertGreaterEqual(handle.read().splitlines().count("heuristic"), first)
        self.assertEqual(sorted(os.listdir(cache)), files)

    def test_equal_runs_give_equal_bytes(self):
        weights = []
        for number in range(2):
            path = os.path.join(self.folder.name, f"w{number}.safetensors")
            self.assertEqual(self.train("--save", path).returncode, 0)
            with open(path, "rb") as handle:
                weights.append(handle.read())
        self.assertEqual(weights[0], weights[1])

    def test_library_runs_on_the_cpu_too(self):
        out = os.path.join(self.folder.name, "out.npz")
        result = run("mpc-run", "predict", self.model, "--inputs", os.path.join(CASE, "data.npz"),
                     "--outputs", out, "--device", "cpu", fake=False)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_no_kernels_for_an_older_gpu(self):
        result = self.train(MPC_FAKE_CUDA_CAPABILITY="75")
        self.assertEqual(result.returncode, 1)
        self.assertIn("compute capability 7.5", result.stderr)
        self.assertIn("--target=cuda:sm_75", result.stderr)

    def test_later_gpu_takes_ptx(self):
        result = self.train(MPC_FAKE_CUDA_CAPABILITY="121")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_driver_too_old(self):
        result = self.train(MPC_FAKE_CUDA_DRIVER="11080")
        self.assertEqual(result.returncode, 1)
        self.assertIn("is for CUDA 11.8; install one for CUDA 12", result.stderr)

    def test_no_gpu(self):
        result = self.train(MPC_FAKE_CUDA_DEVICES="0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("use --device cpu", result.stderr)

    def test_no_such_gpu(self):
        result = run("mpc-run", "predict", self.model, "--inputs", os.path.join(CASE, "data.npz"),
                     "--outputs", os.devnull, "--device", "cuda:3")  # fmt: skip
        self.assertEqual(result.returncode, 1)
        self.assertIn("no device 'cuda:3'; this machine has 1 GPU", result.stderr)

    def test_model_for_the_cpu(self):
        folder = os.path.join(self.folder.name, "cpu")
        self.assertEqual(run("mpcc", os.path.join(CASE, "model.keras"), "--mode=infer", "--name=m",
                             "-o", folder, fake=False).returncode, 0)  # fmt: skip
        result = run("mpc-run", "predict", folder, "--inputs", os.path.join(CASE, "data.npz"),
                     "--outputs", os.devnull, "--device", "cuda:0")  # fmt: skip
        self.assertEqual(result.returncode, 1)
        self.assertIn("compile it with --target=cuda", result.stderr)

    def test_source_can_be_dropped(self):
        folder = os.path.join(self.folder.name, "bare")
        result = run("mpcc", os.path.join(CASE, "model.keras"), "--mode=infer", "--name=m",
                     "--target=cuda:sm_80", "--no-kernel-source", "-o", folder, fake=False)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        result = run("mpc-run", "predict", folder, "--inputs", os.path.join(CASE, "data.npz"),
                     "--outputs", os.devnull, "--device", "cuda:0")  # fmt: skip
        self.assertIn("keeps no kernel source", result.stderr)

    def test_policy_that_the_gpu_does_not_speed_up(self):
        folder = os.path.join(self.folder.name, "bf16")
        run("mpcc", os.path.join(CASE, "model.keras"), "--policy=mixed_bfloat16", "--mode=infer",
            "--target=cuda:sm_75", "--name=m", "-o", folder, fake=False)  # fmt: skip
        for capability, warned in ("75", True), ("90", False):
            result = run("mpc-run", "predict", folder, "--inputs", os.path.join(CASE, "data.npz"),
                         "--outputs", os.path.join(self.folder.name, "o.npz"), "--device", "cuda:0",
                         MPC_FAKE_CUDA_CAPABILITY=capability)  # fmt: skip
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual("bfloat16 policies will likely run slowly" in result.stderr, warned)

    def test_devices_warn(self):
        def warnings(capability):
            text = run("mpc-run", "devices", "--json", MPC_FAKE_CUDA_CAPABILITY=capability).stdout
            gpu = next(device for device in json.loads(text) if device["kind"] == "cuda")
            return {name: bool(policy["warning"]) for name, policy in gpu["policies"].items()}

        self.assertTrue(warnings("61")["mixed_float16"])
        self.assertTrue(warnings("61")["mixed_bfloat16"])
        self.assertFalse(warnings("75")["mixed_float16"])
        self.assertTrue(warnings("75")["mixed_bfloat16"])
        self.assertFalse(any(warnings("90").values()))


if __name__ == "__main__":
    program = unittest.main(exit=False, argv=sys.argv[:1])
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
