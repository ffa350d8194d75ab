#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program meets that lives long: many threads over one model, libraries opened and closed a
thousand times, and state files that are cut, flipped, half written or of another model."""
import argparse
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "test", "CustomLoop"), os.path.join(ROOT, "test")]
# pylint: disable=wrong-import-position
import named_tests  # noqa: E402
import places  # noqa: E402
from run import make_inputs  # noqa: E402
from runtime import Context, Failed, Runtime  # noqa: E402

INVALID_ARGUMENT, NOT_FOUND, UNAVAILABLE, PRECONDITION, DATA_LOSS = 1, 2, 3, 4, 6


class Wrong(Exception):
    pass


def refused(call, statuses, text=""):
    try:
        call()
    except Failed as failure:
        if failure.status not in statuses or text not in str(failure):
            raise Wrong(f"status {failure.status}: {failure}") from failure
        return str(failure)
    raise Wrong("succeeded")


class Suite:
    def __init__(self, arguments):
        self.work, self.bin = arguments.work, arguments.bin
        self.library = os.path.abspath(arguments.runtime)
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        self.runtime = Runtime(self.library)
        fixtures = places.fixtures("keras", "train")
        self.folders = {}
        for name in ["mlp__mixed_float16", "mlp_regularised__float32"]:
            self.folders[name] = os.path.join(self.work, name)
            subprocess.run([os.path.join(self.bin, "mpcc"), "-q", "--march=native", "--name=net", "-o", self.folders[name],
                            os.path.join(fixtures, name, "model.keras")], check=True)
        self.folder = self.folders["mlp__mixed_float16"]
        self.model = os.path.join(fixtures, "mlp__mixed_float16", "model.keras")
        self.context = Context(self.runtime, self.folder)
        _, entry = self.context.entry("train_step")
        for step in range(3):
            self.context.run("train_step", make_inputs(entry, 8, np.random.default_rng(step)), 8)
        self.state = os.path.join(self.work, "whole.state")
        self.save(self.context, self.state)

    def save(self, context, path):
        self.runtime.call("mpc_rt_context_save", context.handle, os.fsencode(path))

    def load(self, context, path):
        self.runtime.call("mpc_rt_context_load", context.handle, os.fsencode(path))

    def copy(self, context):
        return {name: array.copy() for name, array in context.variables().items()}

    def expect_same(self, one, other):
        for name, array in one.items():
            if array.tobytes() != other[name].tobytes():
                raise Wrong(f"{name} differs")

    def go(self, name, *arguments, standard="gnu99"):
        """Builds a program of this folder against the model `net` and runs it."""
        program = os.path.join(self.work, name)
        libraries = os.path.dirname(self.library)
        subprocess.run(["cc", "-std=" + standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1",
                        os.path.join(HERE, name + ".c"), "-I" + self.folder,
                        "-I" + os.path.join(ROOT, "include"), "-L" + self.folder, "-lnet",
                        "-L" + libraries, "-lmpcrt", "-lpthread", "-o", program,
                        f"-Wl,-rpath,{libraries}:{self.folder}"], check=True)  # fmt: skip
        result = subprocess.run([program, self.folder, *arguments], capture_output=True, text=True)
        if result.returncode:
            raise Wrong(f"exit {result.returncode}: {result.stdout}{result.stderr}")

    def test_threads(self):
        self.go("threads", "8", "10000")

    def test_misuse(self):
        state = os.path.join(self.work, "sgd.state")
        context = Context(self.runtime, self.other_optimizer("sgd"))
        self.runtime.call("mpc_rt_context_initialize", context.handle, ctypes.c_uint64(5))
        self.save(context, state)
        context.close()
        self.go("misuse", state, standard="c99")

    def other_optimizer(self, name, *options):
        """The folder's model with another optimizer."""
        folder = os.path.join(self.work, "other-" + "-".join([os.path.basename(name), *options]))
        subprocess.run([os.path.join(self.bin, "mpcc"), "-q", "--march=native", "--name=net", "--optimizer=" + name, *options,
                        "-o", folder, self.model], check=True)  # fmt: skip
        return folder

    def test_states_of_optimizers(self):
        """A state is of the model's optimizer, or refused; weights alone, a loss scale more or less, and models
        that only predict are no reason to."""
        kept = self.copy(self.context)
        momentum = os.path.join(self.work, "momentum.json")
        with open(momentum, "w") as handle:
            json.dump({"module": "keras.optimizers", "class_name": "SGD", "config": {"learning_rate": 0.1, "momentum": 0.9}}, handle)
        momentum = Context(self.runtime, self.other_optimizer(momentum))
        plain = os.path.join(self.work, "plain.state")
        other = Context(self.runtime, self.other_optimizer("sgd"))
        self.save(other, plain)
        refused(lambda: self.load(momentum, plain), {PRECONDITION}, "it lacks 'optimizer/sgd/")
        self.save(momentum, plain)
        refused(lambda: self.load(other, plain), {PRECONDITION}, "it has 'optimizer/sgd/")
        unscaled = Context(self.runtime, self.other_optimizer("adam", "--loss-scale=none"))
        self.load(unscaled, self.state)
        self.save(unscaled, plain)
        self.load(self.context, plain)
        self.expect_same(kept, self.context.variables())
        predicts = Context(self.runtime, self.other_optimizer("sgd", "--mode=infer"))
        self.load(predicts, self.state)
        for context in [momentum, other, unscaled, predicts]:
            context.close()

    def guide(self, policy):
        """The guide's network with 256 units, trained by RMSprop."""
        folder = os.path.join(self.work, "guide-" + policy)
        if not os.path.exists(folder):
            subprocess.run([os.path.join(self.bin, "mpcc"), "-q", "--march=native", "--name=guide", "--policy=" + policy, "-o", folder,
                            os.path.join(ROOT, "examples/mnist_mlp/model_256.keras")], check=True)  # fmt: skip
        return folder

    def build(self, name, *flags):
        """A C++ program of this folder that knows no model."""
        program, libraries = os.path.join(self.work, name), os.path.dirname(self.library)
        subprocess.run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", os.path.join(HERE, name + ".cpp"),
                        "-I" + os.path.join(ROOT, "include"), "-L" + libraries, *flags, "-lpthread", "-ldl", "-o",
                        program, f"-Wl,-rpath,{libraries}"], check=True)  # fmt: skip
        return program

    def test_fork(self):
        program = self.build("forks", "-lmpcrt")
        for policy in ["float32", "mixed_bfloat16"]:
            result = subprocess.run([program, self.guide(policy)], capture_output=True, text=True, timeout=500)
            if result.returncode or result.stdout.count("ok  ") != 28:
                raise Wrong(f"{policy}: exit {result.returncode}: {result.stdout[-1500:]}{result.stderr[-1500:]}")

    def test_threads_end_with_the_last_context(self):
        program = self.build("ends", "-lmpcrt")
        for policy in ["float32", "mixed_bfloat16"]:
            result = subprocess.run([program, self.guide(policy), "64"], capture_output=True, text=True, timeout=500)
            if result.returncode:
                raise Wrong(f"{policy}: exit {result.returncode}: {result.stdout}{result.stderr}")

    def test_scarce_memory(self):
        program = self.build("scarce", "-lmpcrt")
        # Few rows are multiplied by kernels of ours on some CPUs, many by oneDNN, which is loaded then.
        for entry, rows in [("predict", "64"), ("train_step", "64"), ("predict", "256")]:
            result = subprocess.run([program, self.guide("float32"), entry, rows], capture_output=True, text=True, timeout=500)
            if result.returncode:
                raise Wrong(f"{entry} of {rows}: exit {result.returncode}: {result.stdout[-1500:]}{result.stderr[-1500:]}")

    def test_two_threads_in_one_context(self):
        program = self.build("overlap", "-lmpcrt")
        model = self.guide("float32")
        checked = os.environ | {"MPC_RT_CHECKS": "1"}
        result = subprocess.run([program, model], capture_output=True, text=True, timeout=500, env=checked)
        if result.returncode:
            raise Wrong(f"exit {result.returncode}: {result.stdout}{result.stderr}")

    def test_changed_weights_are_found(self):
        """Each byte that is flipped, on request: by mpc-run --verify, mpc_rt_model_verify_weights, and with
        MPC_RT_CHECKS=1 wherever the file is loaded."""
        folder = os.path.join(self.work, "verified")
        shutil.copytree(self.folder, folder)
        path = os.path.join(folder, "net.safetensors")
        with open(path, "rb") as handle:
            whole = handle.read()
        inspect = [os.path.join(self.bin, "mpc-run"), "inspect", folder]

        def fails(command, **options):
            result = subprocess.run(command, capture_output=True, text=True, **options)
            wanted = f"error: {path}: is not the file that mpcc wrote with the library: its SHA-256 is "
            if result.returncode != 1 or not result.stderr.startswith(wanted):
                raise Wrong(f"{command}: exit {result.returncode}: {result.stderr}")

        subprocess.run([*inspect, "--verify"], check=True, capture_output=True)
        draw = random.Random(3)
        model = Context(self.runtime, folder)
        # Behind the header nothing else notices.
        for place in [len(whole) - 1, *draw.sample(range(len(whole)), 20)]:
            changed = bytearray(whole)
            changed[place] ^= 1 << draw.randrange(8)
            with open(path, "wb") as handle:
                handle.write(changed)
            fails([*inspect, "--verify"])
            refused(lambda: self.runtime.call("mpc_rt_model_verify_weights", model.model), {DATA_LOSS}, "its SHA-256 is")
        bench = [os.path.join(self.bin, "mpc-run"), "bench", folder, "--steps=1", "--warmup=0", "--predict"]
        with open(path, "wb") as handle:
            handle.write(whole[:-1] + bytes([whole[-1] ^ 1]))
        fails([*bench, "--verify"])
        fails(bench, env=os.environ | {"MPC_RT_CHECKS": "1"})
        subprocess.run(bench, check=True, capture_output=True)
        subprocess.run(inspect, check=True, capture_output=True)
        with open(path, "wb") as handle:
            handle.write(whole)
        subprocess.run([*bench, "--verify"], check=True, capture_output=True, env=os.environ | {"MPC_RT_CHECKS": "1"})
        model.close()

    def test_dlclose(self):
        program = self.build("closes")
        for policy in ["float32", "mixed_bfloat16"]:
            result = subprocess.run([program, self.library, self.guide(policy)], capture_output=True, text=True)
            if result.returncode:
                raise Wrong(f"{policy}: exit {result.returncode}: {result.stdout}{result.stderr}")

    def test_tensors_and_allocator(self):
        self.go("tensors", standard="c99")

    def test_tensors_of_numpy(self):
        """NumPy's arrays go in and what comes out are NumPy's arrays, over the same memory."""
        capsule = ctypes.pythonapi
        capsule.PyCapsule_GetPointer.restype = ctypes.c_void_p
        capsule.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        capsule.PyCapsule_New.restype = ctypes.py_object
        capsule.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

        class Given:
            def __init__(self, tensor):
                self.tensor = tensor

            def __dlpack__(self, **_):
                return capsule.PyCapsule_New(self.tensor, b"dltensor", None)

            def __dlpack_device__(self):
                return 1, 0

        context = Context(self.runtime, self.folder)
        index, _ = context.entry("predict")
        rows = np.random.default_rng(5).uniform(size=(4, 10)).astype(np.float32)
        expected = context.run("predict", [rows], 4)["out0"]

        def predict(array):
            holder = array.__dlpack__()  # keeps the tensor
            inputs = (ctypes.c_void_p * 1)(capsule.PyCapsule_GetPointer(holder, b"dltensor"))
            outputs = (ctypes.c_void_p * 1)()
            self.runtime.call("mpc_rt_context_run_dlpack", context.handle, index, inputs, 1, outputs, 1)
            return np.from_dlpack(Given(outputs[0]))

        if predict(rows).tobytes() != expected.tobytes():
            raise Wrong("the predictions differ")
        refused(lambda: predict(np.asfortranarray(rows)), {INVALID_ARGUMENT}, "contiguous")
        refused(lambda: predict(rows.astype(np.float64)), {INVALID_ARGUMENT}, "dtype float64; expected float32")
        result = predict(rows)
        context.close()  # the result is its receiver's
        if result.tobytes() != expected.tobytes():
            raise Wrong("a result is gone with its context")

    def test_open_and_close_a_thousand_times(self):
        def pages():
            with open("/proc/self/statm") as handle:
                return int(handle.read().split()[1])

        for i in range(1000):
            Context(self.runtime, self.folder).close()
            if i == 100:
                before = pages()
        if pages() > before + 512:
            raise Wrong(f"memory grew from {before} to {pages()} pages")

    def test_state_comes_back(self):
        other = Context(self.runtime, self.folder)
        self.load(other, self.state)
        self.expect_same(self.context.variables(), other.variables())
        other.close()

    def test_initial_weights_load(self):
        other = Context(self.runtime, self.folder)
        before = self.copy(other)
        self.runtime.call("mpc_rt_context_initialize", other.handle, ctypes.c_uint64(5))
        self.load(other, os.path.join(self.folder, "net.safetensors"))
        after = other.variables()
        self.expect_same({k: v for k, v in before.items() if k[0] in "01"}, after)
        other.close()

    def test_embedded_weights(self):
        """The library alone predicts what library and weights file predict."""
        folder = os.path.join(self.work, "embedded")
        subprocess.run([os.path.join(self.bin, "mpcc"), "-q", "--march=native", "--weights=embedded", "--name=net",
                        self.model, "-o", folder], check=True)
        if os.path.exists(os.path.join(folder, "net.safetensors")):
            raise Wrong("weights stand beside the library, too")
        one, other = Context(self.runtime, self.folder), Context(self.runtime, folder)
        self.expect_same(one.variables(), other.variables())
        one.close()
        other.close()
        inputs = os.path.join(self.work, "x.npz")
        np.savez(inputs, x0=np.random.default_rng(1).uniform(size=(8, 10)).astype(np.float32))
        results = []
        for library in [self.folder, folder]:
            outputs = os.path.join(self.work, "out.npz")
            subprocess.run([os.path.join(self.bin, "mpc-run"), "predict", library, "--inputs", inputs,
                            "--outputs", outputs], check=True, capture_output=True)
            with np.load(outputs) as arrays:
                results.append(arrays["out0"].tobytes())
        if results[0] != results[1]:
            raise Wrong("predictions differ")

    def mapped(self, path):
        """The rows of this process's memory map that are of the file."""
        with open("/proc/self/maps") as handle:
            return [line for line in handle if line.rstrip().endswith(os.path.realpath(path))]

    def test_weights_are_mapped_until_written(self):
        """Predictions read the weights file where it is; training takes a copy, and the file stays."""
        folder = os.path.join(self.work, "mapped")
        model = os.path.join(ROOT, "examples/mnist_mlp/model_256.keras")
        subprocess.run([os.path.join(self.bin, "mpcc"), "-q", "--march=native", "--name=guide", model, "-o", folder], check=True)
        weights = os.path.join(folder, "guide.safetensors")
        with open(weights, "rb") as handle:
            before = handle.read()
        one, other = Context(self.runtime, folder), Context(self.runtime, folder)
        rows = np.random.default_rng(2).uniform(size=(3, 784)).astype(np.float32)
        first = one.run("predict", [rows], 3)["out0"].tobytes()
        if len(self.mapped(weights)) < 2:
            raise Wrong("the weights file is not mapped")
        other.variables()  # asks for every address: all values move to memory of the context
        if other.run("predict", [rows], 3)["out0"].tobytes() != first:
            raise Wrong("mapped and copied weights predict different things")
        targets, ones = np.zeros(3, np.int32), np.ones(3, np.float32)
        for context in [one, other]:
            context.run("train_step", [rows, targets, ones], 3)
        if self.mapped(weights):
            raise Wrong("the file is still mapped after a step of training")
        self.expect_same(one.variables(), other.variables())
        if one.run("predict", [rows], 3)["out0"].tobytes() == first:
            raise Wrong("training changed nothing")
        with open(weights, "rb") as handle:
            if handle.read() != before:
                raise Wrong("training wrote into the weights file")
        one.close()
        other.close()

    def test_mpc_run_maps_weights(self):
        """Predictions of mpc-run read the weights file where it is."""
        folder = self.guide("float32")
        with subprocess.Popen([os.path.join(self.bin, "mpc-run"), "bench", folder, "--predict", "--serve"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # fmt: skip
            if not process.stdout.readline().startswith("READY"):
                raise Wrong("mpc-run bench does not begin")
            with open(f"/proc/{process.pid}/maps") as handle:
                mapped = [line for line in handle if "guide.safetensors" in line]
            process.communicate("quit\n")
        if process.returncode or not mapped:
            raise Wrong(f"exit {process.returncode}, {len(mapped)} pieces of the weights file are mapped")

    def test_initial_values_wait(self):
        """Values drawn late are those drawn at once, whoever asks first."""
        folder = os.path.join(self.work, "drawn")
        subprocess.run([os.path.join(self.bin, "mpcc"), "-q", "--march=native", "--name=guide", "-o", folder,
                        os.path.join(ROOT, "examples/mnist_mlp/model.json")], check=True)
        one, other = Context(self.runtime, folder), Context(self.runtime, folder)
        expected = self.copy(one)  # asks for every address first
        rows = np.ones((1, 784), np.float32)
        result = other.run("predict", [rows], 1)["out0"].tobytes()
        if one.run("predict", [rows], 1)["out0"].tobytes() != result:
            raise Wrong("the predictions differ")
        self.expect_same(expected, other.variables())
        for context in [one, other]:  # addresses are known now: values have to be there at once
            array = context.variables()["0/dense_1/kernel"]
            self.runtime.call("mpc_rt_context_initialize", context.handle, ctypes.c_uint64(7))
            if array.tobytes() == expected["0/dense_1/kernel"].tobytes():
                raise Wrong("a known address shows an old value")
        self.expect_same(one.variables(), other.variables())
        one.close()
        other.close()

    def test_weights_are_rounded_when_read_first(self):
        """The first prediction of few samples rounds float32 weights on the way, the second keeps the
        copies in 16 bits: the same bytes, also for a context that has had them from the start."""
        for policy in ["mixed_bfloat16", "mixed_float16"]:
            folder = self.guide(policy)
            for batch in [1, 4, 5]:
                one, other = Context(self.runtime, folder), Context(self.runtime, folder)
                other.variables()  # addresses are known, so that the copies are made
                rows = np.random.default_rng(batch).normal(size=(batch, 784)).astype(np.float32)
                expected = other.run("predict", [rows], batch)["out0"].tobytes()
                for attempt in range(3):
                    if one.run("predict", [rows], batch)["out0"].tobytes() != expected:
                        raise Wrong(f"{policy}: prediction {attempt} of {batch} samples differs")
                # A weight that is set afterwards counts at once.
                index = ctypes.c_uint32()
                self.runtime.call("mpc_rt_find_variable", one.model, b"dense_1/kernel", ctypes.byref(index))
                zeros = np.zeros(one.tables.variables[index.value].tensor.shape(1), np.float32)
                for context in [one, other]:
                    self.runtime.call("mpc_rt_context_set_variable", context.handle, index, 0, ctypes.c_void_p(zeros.ctypes.data), ctypes.c_size_t(zeros.nbytes))
                results = [context.run("predict", [rows], batch)["out0"].tobytes() for context in [one, other]]
                if results[0] != results[1] or results[0] == expected:
                    raise Wrong(f"{policy}: a new weight is not seen")
                one.close()
                other.close()

    def test_each_allocation_fails_once(self):
        """From loading to saving: a status, never a crash, and the next attempt works."""
        program, libraries = os.path.join(self.work, "allocations"), os.path.dirname(self.library)
        subprocess.run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", os.path.join(HERE, "allocations.cpp"),
                        "-I" + os.path.join(ROOT, "include"), "-L" + libraries, "-lmpcrt", "-ldl", "-rdynamic", "-o", program,
                        f"-Wl,-rpath,{libraries}"], check=True)  # fmt: skip
        folder = self.guide("float32")
        for model in [folder, self.folder]:
            result = subprocess.run([program, model, os.path.join(self.work, "allocations.safetensors")],
                                    capture_output=True, text=True)
            if result.returncode:
                raise Wrong(f"{model}: exit {result.returncode}: {result.stdout}{result.stderr[-1500:]}")
        left = [name for name in os.listdir(self.work) if name.startswith(".mpc-write-")]
        if left:
            raise Wrong(f"left behind: {left}")

    def test_calls_allocate_nothing(self):
        """Once a prediction or a step has run, the next ones of that batch find all their memory there."""
        program, libraries = os.path.join(self.work, "steady"), os.path.dirname(self.library)
        subprocess.run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", os.path.join(HERE, "steady.cpp"),
                        "-I" + os.path.join(ROOT, "include"), "-L" + libraries, "-lmpcrt", "-rdynamic", "-o", program,
                        f"-Wl,-rpath,{libraries}"], check=True)  # fmt: skip
        fixtures = places.fixtures("keras", "train")
        models = [os.path.join(fixtures, f"{kind}__{policy}", "model.keras")
                  for kind in ("mlp", "lstm") for policy in ("float32", "mixed_bfloat16", "mixed_float16")]  # fmt: skip
        wrong = []
        for model in [*models, os.path.join(ROOT, "examples/mnist_mlp/model_256.keras")]:
            folder = os.path.join(self.work, "steady_model")
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([os.path.join(self.bin, "mpcc"), "-q", "--march=native", "--name=net", "-o", folder, model], check=True)
            for entry in ("predict", "train_step"):
                # The guide's model at 32 has some products that are large enough for oneDNN on some
                # CPUs.
                for batch in (1, 8, 32) if model in models else (1, 8):
                    result = subprocess.run([program, folder, entry, str(batch)], capture_output=True, text=True)
                    if result.returncode:
                        wrong.append(f"{model}: {entry} at {batch}: {result.stdout}{result.stderr[-1500:]}")
        if wrong:
            raise Wrong("\n".join(wrong))
        leaking = subprocess.run([program, folder, "predict", "1", "--leak"], capture_output=True, text=True)
        if leaking.returncode != 1 or leaking.stdout != "1 allocations in a call\n":
            raise Wrong(f"an allocation in each call was not seen: exit {leaking.returncode}: {leaking.stdout}{leaking.stderr[-1500:]}")

    def test_damaged_libraries(self):
        """A library that is cut off or has flipped bits is refused before the system maps it."""
        with open(os.path.join(self.folder, "libnet.so"), "rb") as handle:
            whole = handle.read()
        path = os.path.join(self.work, "libdamaged.so")
        draw = random.Random(6)
        model = ctypes.c_void_p()

        def load(content):
            with open(path, "wb") as handle:
                handle.write(content)
            self.runtime.call("mpc_rt_model_load", os.fsencode(path), ctypes.byref(model))

        for place in list(range(0, 512)) + [draw.randrange(len(whole)) for _ in range(500)]:
            damaged = bytearray(whole)
            damaged[place] ^= 1 << draw.randrange(8)
            if place < len(whole) - 8:  # else it has no seal, and is whole
                refused(lambda: load(damaged), {DATA_LOSS}, "is damaged")
        for size in [0, 1, 63, 64, 4096, len(whole) - 25] + [draw.randrange(len(whole) - 24) for _ in range(100)]:
            refused(lambda: load(whole[:size]), {DATA_LOSS, PRECONDITION}, path)
        load(whole[:-24])  # as strip leaves it
        self.runtime.library.mpc_rt_model_release(model)
        large = whole[:-24] + bytes(9 << 20)  # the middle is not looked at
        refused(lambda: load(large + whole[-24:]), {DATA_LOSS}, "is damaged")

    def test_another_model_is_refused(self):
        other = Context(self.runtime, self.folders["mlp_regularised__float32"])
        before = self.copy(other)
        refused(lambda: self.load(other, self.state), {PRECONDITION}, "expected")
        self.expect_same(before, other.variables())
        other.close()

    def test_absent_file(self):
        refused(lambda: self.load(self.context, self.work + "/no.state"), {NOT_FOUND}, "no.state: No such file")

    def test_directory(self):
        refused(lambda: self.save(self.context, self.work), {UNAVAILABLE}, self.work)

    def test_every_truncation(self):
        with open(self.state, "rb") as handle:
            whole = handle.read()
        path = os.path.join(self.work, "cut.state")
        before = self.copy(self.context)
        for size in list(range(min(len(whole), 3000))) + list(range(3000, len(whole), 97)):
            with open(path, "wb") as handle:
                handle.write(whole[:size])
            refused(lambda: self.load(self.context, path), {DATA_LOSS})
        self.expect_same(before, self.context.variables())

    def test_a_thousand_flipped_bits(self):
        with open(self.state, "rb") as handle:
            whole = handle.read()
        path = os.path.join(self.work, "flipped.state")
        before = self.copy(self.context)
        draw = random.Random(3)
        for _ in range(1000):
            damaged = bytearray(whole)
            damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
            with open(path, "wb") as handle:
                handle.write(damaged)
            refused(lambda: self.load(self.context, path), {DATA_LOSS, PRECONDITION})
        self.expect_same(before, self.context.variables())

    def test_full_disk_at_each_limit(self):
        """A file size limit fails the write where a full disk would: the old file stays."""
        path = os.path.join(self.work, "limited.state")
        shutil.copy(self.state, path)
        with open(path, "rb") as handle:
            whole = handle.read()
        limits = sorted(set(list(range(0, len(whole), max(1, len(whole) // 100))) + [1, 4095, len(whole) - 1]))
        code = ("import resource, signal, sys\n"
                f"sys.path.insert(0, {os.path.join(ROOT, 'test', 'CustomLoop')!r})\n"
                "from runtime import Context, Failed, Runtime\n"
                "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                f"context = Context(Runtime({self.library!r}), {self.folder!r})\n"
                f"for limit in {limits!r}:\n"
                "    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))\n"
                "    try:\n"
                f"        context.runtime.call('mpc_rt_context_save', context.handle, {path.encode()!r})\n"
                "    except Failed as failure:\n"
                f"        assert failure.status == 3 and {path!r} in str(failure), failure\n"
                "    else:\n"
                "        sys.exit(f'a save within {limit} bytes succeeded')\n")  # fmt: skip
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        if result.returncode:
            raise Wrong(result.stderr)
        with open(path, "rb") as handle:
            if handle.read() != whole:
                raise Wrong("the old file has changed")
        left = [name for name in os.listdir(self.work) if name.startswith(".mpc-write-")]
        if left:
            raise Wrong(f"left behind: {left}")

    def test_kill_while_saving(self):
        path = os.path.join(self.work, "killed.state")
        # One interpreter starts and forks for each kill, before there is a runtime in it.
        code = ("import os, sys\n"
                f"sys.path.insert(0, {os.path.join(ROOT, 'test', 'CustomLoop')!r})\n"
                "from runtime import Context, Runtime\n"
                "while sys.stdin.readline():\n"
                "    child = os.fork()\n"
                "    if child:\n"
                "        if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):\n"
                "            sys.exit('a child was not killed')\n"
                "        continue\n"
                f"    context = Context(Runtime({self.library!r}), {self.folder!r})\n"
                "    print(os.getpid(), flush=True)\n"
                "    while True:\n"
                f"        context.runtime.call('mpc_rt_context_save', context.handle, {path.encode()!r})\n")
        other = Context(self.runtime, self.folder)
        draw = random.Random(4)
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
            for _ in range(40):
                parent.stdin.write("\n")
                parent.stdin.flush()
                child = int(parent.stdout.readline())
                time.sleep(draw.uniform(0.002, 0.05))
                os.kill(child, signal.SIGKILL)
                while os.path.exists(f"/proc/{child}"):
                    time.sleep(0.001)
                if os.path.exists(path):
                    self.load(other, path)
            parent.stdin.close()
            if parent.wait():
                raise Wrong(f"exit {parent.returncode}")
        other.close()
        if not os.path.exists(path):
            raise Wrong("nothing was ever saved")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--runtime", default="build/release/lib/libmpcrt.so.1")
    parser.add_argument("--work", default="/tmp/library-tests")
    return named_tests.run(named_tests.methods(Suite(parser.parse_args())))


if __name__ == "__main__":
    sys.exit(main())
