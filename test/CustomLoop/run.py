#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The four calls of the custom training loop against the fused step: after every one of 50 steps,
with gradients that are not finite among them, each variable and the loss have the same bytes."""
import argparse
import fnmatch
import os
import subprocess
import sys

import numpy as np

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
# pylint: disable=wrong-import-position
import named_tests  # noqa: E402
import places  # noqa: E402
from runtime import DTYPES, FAILED_PRECONDITION, Context, Failed, Runtime, pointers  # noqa: E402

STEPS = 50
# Steps whose input holds an infinity, and loss scales that are set before steps: much too large,
# then one to go on with.
INFINITE_INPUTS = {7, 8, 31}
SCALES = {15: 3e38, 16: 3e38, 17: 4096.0, 40: 3e38, 41: 4096.0}


class Different(Exception):
    pass


def make_inputs(entry, batch, random):
    inputs = []
    for i in range(entry.input_count):
        tensor = entry.inputs[i]
        shape, dtype = tensor.shape(batch), DTYPES[tensor.dtype]
        if np.issubdtype(dtype, np.integer):
            limit = tensor.index_limit or 2
            inputs.append(random.integers(0, limit, shape).astype(dtype))
        elif tensor.name.startswith(b"sample_weight"):
            inputs.append(random.uniform(0.5, 1.5, shape).astype(dtype))
        else:
            inputs.append(random.uniform(0, 1, shape).astype(dtype))
    return inputs


def poison(inputs):
    """An infinity in the first floating input; False where there is none."""
    for array in inputs:
        if np.issubdtype(array.dtype, np.floating) and array.size:
            array.reshape(-1)[0] = np.inf
            return True
    return False


def same(step, what, fused, staged):
    if np.issubdtype(fused.dtype, np.floating):
        # A NaN only has to be one: which of two operands gives its sign is the CPU's business.
        if not np.array_equal(np.isnan(fused), np.isnan(staged)):
            raise Different(f"step {step}: {what} is NaN in other places")
        fused, staged = np.nan_to_num(fused, nan=0), np.nan_to_num(staged, nan=0)
    if fused.tobytes() != staged.tobytes():
        bad = np.flatnonzero(fused.reshape(-1).view(np.uint8) != staged.reshape(-1).view(np.uint8))
        raise Different(f"step {step}: {what} differs in {bad.size} bytes: "
                        f"{fused.reshape(-1)[:4]} {staged.reshape(-1)[:4]}")


def compare(fused, staged, poisons):
    """Runs both; returns how many steps were skipped."""
    random = np.random.default_rng(11)
    index, entry = fused.entry("train_step")
    if index is None or staged.gradient_count() == 0:
        raise Different("has no training step")
    buffers = staged.gradients()
    own = pointers(list(buffers.values()))
    skipped, weights = 0, fused.variables()
    restored = {name: array.copy() for name, array in weights.items()}
    for step in range(STEPS):
        batch = [16, 16, 5, 1, 33][step % 5]
        if entry.input_count and entry.inputs[0].rank and entry.inputs[0].dims[0] != -1:
            batch = entry.inputs[0].dims[0]
        inputs = make_inputs(entry, batch, random)
        dynamic = fused.loss_scale().dynamic
        if step in INFINITE_INPUTS and poisons:
            poison(inputs)
        if step in SCALES and dynamic:
            for context in (fused, staged):
                context.set_loss_scale(SCALES[step], 1)
        outputs = fused.run("train_step", inputs, batch)
        # Buffers of the caller and of the context in turn.
        given = own if step % 2 else None
        loss = staged.forward(inputs, batch)[0]
        staged.backward(given)
        finite = staged.unscale(given)
        applied = staged.apply(given)
        same(step, "loss", outputs["loss"], loss)
        same(step, "learning_rate", outputs["learning_rate"], np.float32(applied.learning_rate))
        if "finite" in outputs and bool(outputs["finite"]) != bool(applied.applied):
            raise Different(f"step {step}: finite {outputs['finite']}, applied {applied.applied}")
        if dynamic and finite != applied.applied:
            raise Different(f"step {step}: finite {finite}, applied {applied.applied}")
        skipped += not applied.applied
        mine, other = fused.variables(), staged.variables()
        for name in mine:
            same(step, name, mine[name], other[name])
        if not dynamic and step in INFINITE_INPUTS:
            # Nothing protects such a model: it starts again, so that later steps compare numbers.
            for context in (fused, staged):
                for name, array in context.variables().items():
                    array[...] = restored[name]
                context.runtime.call("mpc_rt_context_variables_changed", context.handle)
    changed = any(not np.array_equal(array, restored[name])
                  for name, array in fused.variables().items() if name.startswith("0/"))
    if not changed:
        raise Different("nothing was trained")
    if fused.loss_scale().dynamic and not skipped:
        raise Different("no step was skipped")
    return skipped


def expect_refusal(call):
    try:
        call()
    except Failed as failure:
        if failure.status == FAILED_PRECONDITION:
            return
        raise Different(f"status {failure.status}: {failure}") from failure
    raise Different("a call out of order succeeded")


def check_order(context):
    """Calls out of order are refused, and a skipped update changes nothing but the scale."""
    _, entry = context.entry("train_step")
    batch = 4
    inputs = make_inputs(entry, batch, np.random.default_rng(2))
    expect_refusal(context.backward)
    expect_refusal(context.unscale)
    expect_refusal(context.apply)
    context.forward(inputs, batch)
    expect_refusal(context.apply)
    context.backward()
    expect_refusal(context.backward)
    dynamic = context.loss_scale().dynamic
    if dynamic:
        expect_refusal(context.apply)  # still scaled
    if not context.unscale():
        raise Different("finite gradients are said not to be")
    context.apply()
    expect_refusal(context.apply)
    if not dynamic:
        expect_refusal(lambda: context.set_loss_scale(8.0, 0))
        return
    # A caller's own NaN, after unscaling.
    buffers = context.gradients()
    given = pointers(list(buffers.values()))
    context.set_loss_scale(1024.0, 0)
    context.forward(inputs, batch)
    context.backward(given)
    before = {name: array.copy() for name, array in context.variables().items()}
    if not context.unscale(given):
        raise Different("finite gradients are said not to be")
    next(iter(buffers.values())).reshape(-1)[0] = np.nan
    if context.apply(given).applied:
        raise Different("NaN was applied")
    after = context.variables()
    for name, array in before.items():
        scaler = "dynamic_scale" in name or "step_counter" in name
        if not scaler and not np.array_equal(array, after[name]):
            raise Different(f"{name} changed in a skipped step")
    if context.loss_scale().scale != 512.0:
        raise Different(f"the scale is {context.loss_scale().scale}, not 512")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--runtime", default="build/release/lib/libmpcrt.so.1")
    parser.add_argument("--work", default="/tmp/custom-loop")
    parser.add_argument("--case", default="", help="a pattern; default: the quick selection")
    parser.add_argument("--fixtures", default=places.fixtures("keras", "train"))
    arguments = parser.parse_args()
    runtime = Runtime(os.path.abspath(arguments.runtime))
    names = [name for name in sorted(os.listdir(arguments.fixtures))
             if fnmatch.fnmatch(name, arguments.case or "*")]
    # Scaling and optimizers of other kinds than the files have.
    extra = [("mlp__float32", "--loss-scale=fixed:1024"), ("mlp__float32", "--loss-scale=dynamic:8:3"),
             ("lstm__mixed_float16", "--policy=float16"),
             ("transformer__float32", "--optimizer=adagrad"), ("mlp__mixed_float16", "--optimizer=ScheduleFreeAdamW"),
             ("cnn__mixed_float16", "--batch=8")]  # fmt: skip
    quick = ["opt_" not in name or "clip" in name or "accum" in name or "ema" in name
             for name in names]
    cases = [(name, "") for name, kept in zip(names, quick) if kept or arguments.case]
    cases += [(name, option) for name, option in extra if name in names]
    tests = {f"{name} {option}".strip(): (os.path.join(arguments.fixtures, name, "model.keras"), [option] if option else [])
             for name, option in cases}  # fmt: skip
    # Attention with dropout, whose bytes the fused step keeps and the stages draw twice.
    if not arguments.case:
        model = os.path.join(TESTS, "Models", "layers", "dropped_long_attention.keras")
        tests["dropped_long_attention"] = (model, ["--loss=mse", "--optimizer=adam"])

        # The terms of their rows' sums are computed where they are summed in one kernel, and read in another.
        # Inputs called as arguments of the stages are.
        for name, policy in ("text.json", "mixed_bfloat16"), ("rows.json", "mixed_float16"), ("names.json", "mixed_float16"):
            model = os.path.join(TESTS, "CustomLoop", "models", name)
            tests[f"{name} {policy}"] = (model, [f"--policy={policy}", "--initialize", "--loss=sparse_categorical_crossentropy", "--optimizer=adam"])  # fmt: skip

    def check(title, model, options):
        folder = os.path.join(arguments.work, title.replace(" ", ""))
        subprocess.run([os.path.join(arguments.bin, "mpcc"), "-q", "--march=x86-64-v3", "--name=net", model, *options,
                        "-o", folder], check=True)  # fmt: skip
        contexts = [Context(runtime, folder) for _ in range(3)]
        try:
            skipped = compare(*contexts[:2], poisons=True)
            check_order(contexts[2])
        finally:
            for context in contexts:
                context.close()
        return f"skipped {skipped}"

    return named_tests.run({title: lambda case=(title, *test): check(*case) for title, test in tests.items()})


if __name__ == "__main__":
    sys.exit(main())
