#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that other people wrote, through the real tools: predictions and one training step are
compared with what Keras recorded (record.py). See README.md."""
import argparse
import os
import shutil
import subprocess
import sys
import zlib

import numpy as np

from samples import prepare_dgaintel, sample

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import named_tests  # noqa: E402  pylint: disable=wrong-import-position
import places  # noqa: E402  pylint: disable=wrong-import-position

# Relative to an element and to the root mean square of its array, as in the public fixtures: sums
# of thousands of products in another order, through 41 and 24 steps of recurrence.
OUTPUT = 2e-5
LOSS = 2e-5
STATE = 2e-4


# Cases of layers/ that compute in 16 bits, and what mpcc is told.
HALF = {"cell_policy_gradient", "constant_arguments_float16", "dropped_long_attention_float16", "dropped_masked_long_attention_float16", "hub_float16", "long_attention_float16", "masked_long_attention_float16", "softmax_masked_long_attention_float16", "recorded_views_float16", "cell_policy: out1", "resized_nearest_float16", "stft_float16", "pipeline", "stack_policies_gradient", "sums_of_calls_float16", "sums_of_narrowings_float16", "sums_of_steps_float16", "sums_of_steps_conv_float16"} | {
    f"stack_policies: out{i}" for i in range(5)}
OPTIONS = {"circle": ["--batch=3"]}


# Code for one level of the ISA takes half the time: the machine's own; and that of custom training loops, which
# nothing here runs, a third of what is left. One model of this many is compiled as users get it, with all of it. Of the
# others one of so many is optimised: test/Driver/optimization.test shows that the bytes are the same.
PORTABLE = 10
OPTIMISED = 4


class Failure(Exception):
    pass


def run(*command, code=0, output=False):
    """What the command said to its user, or its output."""
    if os.path.basename(command[0]) == "mpcc":
        number = zlib.crc32(os.path.basename(command[1]).encode())
        if number % PORTABLE:
            command = (*command, "--march=native", "--custom-loop=off", "-O2" if number % OPTIMISED == 0 else "-O0")
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != code:
        raise Failure(f"{' '.join(command)}: exit {result.returncode}\n"
                      f"{(result.stdout + result.stderr)[-2000:]}")
    return result.stdout if output else result.stderr


def compare(name, got, expected, tolerance):
    if got is None:
        raise Failure(f"{name}: is missing")
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape:
        raise Failure(f"{name}: shape {got.shape}, expected {expected.shape}")
    if expected.dtype.kind in "iub":
        if not np.array_equal(got, expected):
            raise Failure(f"{name}: {got} is not {expected}")
        return
    allowed = tolerance * (np.abs(expected) + np.sqrt(np.mean(np.square(expected))))
    error = np.abs(got.astype(np.float64) - expected)
    if not (error <= allowed).all():  # NaN fails
        worst = np.nanmax(error / np.maximum(allowed, 1e-30))
        raise Failure(f"{name}: off by {worst:.3g} times the tolerance {tolerance:g}")


def check(tools, model, name, options, work):
    folder = os.path.join(work, name)
    with np.load(os.path.join(HERE, name + ".npz")) as arrays:
        recorded = {key: arrays[key] for key in arrays.files}
    run(tools["mpcc"], model, "--name=model", *options, "-o", folder)
    data, output = os.path.join(folder, "data.npz"), os.path.join(folder, "out.npz")
    np.savez(data, x0=recorded["x0"], y0=recorded["y0"])
    run(tools["mpc-run"], "predict", folder, "--inputs", data, "--outputs", output)
    with np.load(output) as arrays:
        compare(f"{name}: out0", arrays["out0"], recorded["out0"], OUTPUT)
    trace = os.path.join(folder, "trace.npz")
    run(tools["mpc-run"], "train", folder, "--data", data, "--shuffle=off", "--epochs", "1",
        "--batch-size", str(len(recorded["x0"])), "--steps", "1", "--trace", trace)
    with np.load(trace) as arrays:
        compare(f"{name}: loss", arrays["loss"][0], recorded["loss"], LOSS)
        for key in recorded:
            if key.startswith(("final:", "opt:")):
                compare(f"{name}: {key}", sample(arrays[key]), recorded[key], STATE)


def check_layer(tools, name, work):
    """A case of layers/, made by record_layers.py; its arrays say of which kind it is."""
    folder, model = os.path.join(work, name), os.path.join(HERE, "layers", name + ".keras")
    if not os.path.exists(model):
        model = os.path.join(HERE, "layers", name + ".h5")
    with np.load(os.path.join(HERE, "layers", name + ".npz")) as arrays:
        recorded = {key: arrays[key] for key in arrays.files}
    run(tools["mpcc"], model, "--name=model", "--output-guard=off", *OPTIONS.get(name, []), "-o",
        folder)
    data, output = os.path.join(folder, "data.npz"), os.path.join(folder, "out.npz")
    given = {key: recorded.pop(key) for key in list(recorded) if key in ("x", "y0", "y1", "y2") or key.startswith("sample_weight")}
    np.savez(data, **given)
    if "batch" in recorded:
        run(tools["mpc-run"], "train", folder, "--data", data, "--shuffle=off", "--epochs", "1",
            "--batch-size", str(recorded["batch"]), "--steps", str(len(recorded["loss"])),
            "--trace", output)
    elif "y0" in given:
        run(tools["mpc-run"], "gradients", folder, "--data", data, "--outputs", output)
    else:
        run(tools["mpc-run"], "predict", folder, "--inputs", data, "--outputs", output)
    with np.load(output) as arrays:
        computed = {key: arrays[key] for key in arrays.files}
    for key in recorded:
        if key != "batch":
            place = f"{name}: {key}"
            base = 0.04 if "bfloat16" in name or name in HALF or place in HALF else 2e-5
            factor = 5 if key.startswith(("grad:", "opt:", "final:")) else 1
            compare(place, computed.get(key), recorded[key], base * factor)


def check_masks(tools, work):
    """Dropout inside TimeDistributed drops other elements in every step, and others in a second
    call than in any step of the first."""
    folder = os.path.join(work, "masks")
    run(tools["mpcc"], os.path.join(HERE, "layers", "time_distributed_dropout.keras"),
        "--name=model", "-o", folder)
    data, output = os.path.join(folder, "data.npz"), os.path.join(folder, "out.npz")
    ones = {"x": np.ones((2, 5, 64), np.float32), "pairs": np.ones((2, 5, 64, 2), np.float32)}
    np.savez(data, y0=ones["x"], y1=ones["pairs"], **ones)
    run(tools["mpc-run"], "gradients", folder, "--data", data, "--outputs", output)
    with np.load(output) as arrays:
        computed = {key: arrays[key] for key in arrays.files}
    kept = computed["out0"] != 0
    if not np.array_equal(computed["gradx:x"] != 0, kept & (computed["out0"] != 1)):
        raise Failure("the gradient flows where the forward pass dropped, or not where it kept")
    pairs = computed["out1"][:, :, 0, :] != 0  # one decision for all places of a channel
    if not (computed["out1"] != 0).reshape(2, 5, 64, 2).all(axis=2)[pairs].all():
        raise Failure("SpatialDropout1D drops single places")
    for step in range(5):
        if not 0.3 < kept[:, step].mean() < 0.7:
            raise Failure(f"step {step} keeps {kept[:, step].mean():.0%}")
        for other in range(step):
            same = (kept[:, step] == kept[:, other]).mean()
            if not 0.3 < same < 0.7:
                raise Failure(f"steps {other} and {step} agree in {same:.0%} of their masks")
    if all(np.array_equal(pairs[:, 0], pairs[:, step]) for step in range(5)):
        raise Failure("every step of SpatialDropout1D has the same mask")


def check_dropped_attention(tools, work):
    """Attention as one call drops probabilities, each for itself, and its derivative is that of what it dropped. Values
    that are unit vectors show the probabilities."""
    rate = 0.3
    random = np.random.default_rng(0)
    x = random.normal(scale=0.5, size=(3, 100, 6)).astype(np.float32)
    e = np.tile(np.eye(100, dtype=np.float32), (3, 1, 1))
    y = random.normal(scale=100, size=(3, 100, 100)).astype(np.float32)
    folder = os.path.join(work, "dropped_attention")
    data, output = os.path.join(work, "dropped.npz"), os.path.join(work, "dropped_out.npz")
    np.savez(data, x=x, e=e, y0=y)
    for policy, tolerance in (("float32", 2e-5), ("mixed_bfloat16", 4e-2), ("mixed_float16", 4e-2)):
        said = run(tools["mpcc"], os.path.join(HERE, "layers", "dropped_attention.keras"), "--name=model", "--loss=mse", "--optimizer=sgd",
                   "--loss-scale=none", "--policy=" + policy, "--explain=passes", "-o", folder, output=True)
        if "attention is one call: of its scores a byte each" not in said:
            raise Failure(f"attention is not one call: {said}")
        run(tools["mpc-run"], "gradients", folder, "--data", data, "--outputs", output)
        with np.load(output) as arrays:
            computed = {key: arrays[key].astype(np.float64) for key in arrays.files}
        kept = computed["out0"] != 0
        if not 1 - rate - 0.02 < kept.mean() < 1 - rate + 0.02 or (kept[0] == kept[1]).mean() > 0.7 or (kept[:, 0] == kept[:, 1]).mean() > 0.7:
            raise Failure(f"dropout keeps {kept.mean():.0%}")
        scores = np.einsum("btd,bsd->bts", x, x, dtype=np.float64)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        # Weights that underflow in 16 bits are 0, kept or not.
        kept |= weights < 1e-6
        out = weights * kept / (1 - rate)
        compare("out0 of " + policy, computed["out0"], out, tolerance)
        cotangent = 2 * (out - y) / y.size
        compare("gradx:e of " + policy, computed["gradx:e"], np.swapaxes(out, 1, 2) @ cotangent, tolerance)
        flowing = cotangent * kept / (1 - rate)
        flowing = weights * (flowing - (flowing * weights).sum(axis=-1, keepdims=True))
        compare("gradx:x of " + policy, computed["gradx:x"], flowing @ x + np.swapaxes(flowing, 1, 2) @ x, tolerance)
        run(tools["mpc-run"], "predict", folder, "--inputs", data, "--outputs", output)
        with np.load(output) as arrays:
            compare("predictions of " + policy, arrays["out0"], weights, tolerance)


def check_draws(tools, work):
    """What augmentation draws: for each sample another number, in every step others, in its range; prediction draws
    nothing."""
    folder = os.path.join(work, "draws")
    run(tools["mpcc"], os.path.join(HERE, "layers", "augmented_draws.keras"), "--name=model", "-o", folder)
    data, output = os.path.join(folder, "data.npz"), os.path.join(folder, "out.npz")
    images = np.random.default_rng(0).normal(size=(400, 4, 5, 1)).astype(np.float32)
    np.savez(data, x=images, y0=np.zeros_like(images), y1=np.zeros_like(images))
    run(tools["mpc-run"], "gradients", folder, "--data", data, "--outputs", output)
    with np.load(output) as arrays:
        flipped, brightened = arrays["out0"], arrays["out1"]
    is_flipped = (flipped == images[:, :, ::-1]).all(axis=(1, 2, 3))
    if not (is_flipped | (flipped == images).all(axis=(1, 2, 3))).all():
        raise Failure("a sample is neither flipped nor as it was")
    if not 0.4 < is_flipped.mean() < 0.6:
        raise Failure(f"{is_flipped.mean():.0%} of the samples are flipped")
    deltas = (brightened - images).reshape(400, -1)
    if np.ptp(deltas, axis=1).max() > 1e-5:
        raise Failure("the places of an image do not have one brightness")
    deltas = deltas.mean(axis=1) / 20  # of the value range
    if not (-0.1001 < deltas.min() < -0.09 and 0.29 < deltas.max() < 0.3001 and 0.08 < deltas.mean() < 0.12):
        raise Failure(f"brightness changes by {deltas.min()} to {deltas.max()}, {deltas.mean()} in the mean")
    if abs(np.corrcoef(deltas, is_flipped)[0, 1]) > 0.2:
        raise Failure("two layers draw the same numbers")
    run(tools["mpc-run"], "predict", folder, "--inputs", data, "--outputs", output)
    with np.load(output) as arrays:
        if not (np.array_equal(arrays["out0"], images) and np.array_equal(arrays["out1"], images)):
            raise Failure("prediction changes the images")


def check_colour_draws(tools, work):
    """What augmentation of colours draws: probabilities, places of what is erased, numbers of bits."""
    folder = os.path.join(work, "colour_draws")
    run(tools["mpcc"], os.path.join(HERE, "layers", "augmented_colour_draws.keras"), "--name=model", "-o", folder)
    data, output = os.path.join(folder, "data.npz"), os.path.join(folder, "out.npz")
    images = np.random.default_rng(0).uniform(0.1, 0.9, size=(600, 8, 8, 3)).astype(np.float32)
    np.savez(data, x=images, y0=np.zeros((600, 8, 8, 6), np.float32), y1=np.zeros((600, 8, 8, 6), np.float32))
    run(tools["mpc-run"], "gradients", folder, "--data", data, "--outputs", output)
    with np.load(output) as arrays:
        (grayed, inverted), (erased, posterized) = (np.split(arrays[name], 2, axis=-1) for name in ("out0", "out1"))

    def share(name, changed, whole, low, high):
        """Samples are changed as a whole or not at all."""
        if not (changed == whole).all(axis=(1, 2, 3))[changed.any(axis=(1, 2, 3))].all():
            raise Failure(f"{name} changes parts of an image")
        mean = changed.any(axis=(1, 2, 3)).mean()
        if not low < mean < high:
            raise Failure(f"{name} changes {mean:.0%} of the samples")

    share("RandomGrayscale", grayed != images, np.broadcast_to((np.ptp(grayed, axis=-1) == 0)[..., None], images.shape), 0.25, 0.35)
    share("RandomInvert", inverted != images, np.abs(inverted - (1 - images)) < 1e-6, 0.34, 0.46)
    places = (erased != images).any(axis=-1)
    rows, columns = places.any(axis=2), places.any(axis=1)
    if not np.array_equal(places, rows[:, :, None] & columns[:, None, :]):
        raise Failure("RandomErasing erases what is no rectangle")
    hit = places.any(axis=(1, 2))
    if not 0.44 < hit.mean() < 0.56 or set(rows[hit].sum(axis=1)) != {4} or set(columns[hit].sum(axis=1)) != {4}:
        raise Failure(f"RandomErasing erases {hit.mean():.0%} of the samples, {set(rows[hit].sum(axis=1))} rows")
    starts = np.bincount(rows[hit].argmax(axis=1), minlength=5)
    if len(starts) != 5 or starts[0] or starts[1:].min() < 50 or starts.max() > 100 or abs(np.corrcoef(rows[hit].argmax(axis=1), columns[hit].argmax(axis=1))[0, 1]) > 0.2:
        raise Failure(f"RandomErasing begins at rows {starts} times")
    noise = erased[places]
    if noise.min() < 0 or noise.max() > 1 or not 0.45 < (noise == 0).mean() < 0.55 or not 0.12 < (noise == 1).mean() < 0.20:
        raise Failure("RandomErasing fills in no clipped normal noise")
    bits = np.zeros(600, int)
    for count in (4, 3, 2):
        step = 2 ** (8 - count)
        kept = np.floor(np.floor(images * 255) / step) * step / 255
        bits[(np.abs(posterized - kept) < 1e-5).all(axis=(1, 2, 3))] = count
    counts = np.bincount(bits, minlength=5)
    if counts[0] or counts[2:].min() < 160:
        raise Failure(f"RandomPosterization keeps bits {counts} times")
    run(tools["mpc-run"], "predict", folder, "--inputs", data, "--outputs", output)
    with np.load(output) as arrays:
        if not all(np.array_equal(part, images) for name in ("out0", "out1") for part in np.split(arrays[name], 2, axis=-1)):
            raise Failure("prediction changes the images")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--case", default="", help="only tests whose names hold this")
    parser.add_argument("--every", type=int, default=1, help="only every Nth of those tests")
    parser.add_argument("--shard", default="0/1", metavar="I/N", help="one of N parts")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--of-others", action="store_true", help="the models of other people instead of layers/")
    options = parser.parse_args()
    models = places.models() or ""
    if options.of_others and not models:
        print(f"SKIPPED: {places.WITHOUT_MODELS}")
        return places.SKIPPED
    # Threads that wait must not keep the tests beside this one from working.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    tools = {name: os.path.join(options.bin, name) for name in ("mpcc", "mpc-run")}
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(options.work)
    sleepecg = os.path.join(models, "sleepecg.keras")
    dgaintel = os.path.join(options.work, "dgaintel.h5")

    def open_length():
        text = run(tools["mpcc"], sleepecg, "-o", os.path.join(options.work, "none"), code=1)
        if "--input-shape=input_layer:100,36" not in text:
            raise Failure(f"the message names no --input-shape: {text}")

    def quantized_attention():
        model = os.path.join(HERE, "layers", "quantized_attention.keras")
        text = run(tools["mpcc"], model, "-o", os.path.join(options.work, "none"), code=1)
        for holder in ("multi_head_attention: model.weights.h5 holds quantized weights inside this MultiHeadAttention", "grouped_query_attention: model.weights.h5 holds quantized weights inside this GroupQueryAttention"):
            if text.count(holder) != 1 or text.count("error:") != 2 or "--policy=MODE_from_POLICY" not in text:
                raise Failure(f"the message does not say what the file lacks: {text}")

    def secretly(name, *expected):
        """What is wrong with a file that only looks quantized, or is: the parts of a single error."""
        text = run(tools["mpcc"], os.path.join(HERE, "layers", name + ".keras"), "-o", os.path.join(options.work, "none"), code=1)
        if text.count("error:") != 1 or not all(part in text for part in expected):
            raise Failure(f"expected one error with {expected}: {text}")

    def run_dgaintel():
        prepare_dgaintel(os.path.join(models, "dgaintel.h5"), dgaintel)
        check(tools, dgaintel, "dgaintel", [], options.work)

    def run_quantized_dgaintel():
        """A legacy file's weights where int8 puts the kernel behind the bias; the steps of its scales are 1/127."""
        folder = os.path.join(options.work, "dgaintel8")
        run(tools["mpcc"], os.path.join(models, "dgaintel.h5"), "--name=model", "--mode=infer", "--policy=int8_from_float32", "-o", folder)
        with np.load(os.path.join(HERE, "dgaintel.npz")) as arrays:
            given, expected = arrays["x0"], arrays["out0"]
        data, output = os.path.join(folder, "data.npz"), os.path.join(folder, "out.npz")
        np.savez(data, x0=given)
        run(tools["mpc-run"], "predict", folder, "--inputs", data, "--outputs", output)
        with np.load(output) as arrays:
            worst = np.abs(arrays["out0"] - expected).max()
            if not 0 < worst < 0.02:
                raise Failure(f"quantized predictions are {worst:g} off")

    of_others = {
        "sleepecg": lambda: check(tools, sleepecg, "sleepecg", ["--input-shape=24,36"],
                                  options.work),
        "sleepecg without a length": open_length,
        "dgaintel": run_dgaintel,
        "dgaintel in int8": run_quantized_dgaintel,
        # As the file is, with Dropout.
        "dgaintel as it is": lambda: run(tools["mpcc"], os.path.join(models, "dgaintel.h5"), "-o",
                                         os.path.join(options.work, "asis")),
    }
    tests = {}
    tests["attention that quantize changed"] = quantized_attention
    tests["attention in float8"] = lambda: secretly("quantized_attention_float8", "multi_head_attention: model.weights.h5 holds quantized weights inside this MultiHeadAttention")
    tests["attention with six arrays more"] = lambda: secretly("attention_with_more", "query: model.weights.h5 holds more than the layer's 2 variables (layers/multi_head_attention/query_dense/vars)")
    tests["attention of integers"] = lambda: secretly("attention_of_integers", "attention/query/kernel: the weights are of another kind of number than the layer's")
    tests["dropped attention"] = lambda: check_dropped_attention(tools, options.work)
    tests["draws of augmentation"] = lambda: check_draws(tools, options.work)
    tests["draws of colours"] = lambda: check_colour_draws(tools, options.work)
    tests["masks of TimeDistributed"] = lambda: check_masks(tools, options.work)
    for name in sorted(os.listdir(os.path.join(HERE, "layers"))):
        if name.endswith(".npz"):
            name = name[: -len(".npz")]
            tests["layers/" + name] = lambda name=name: check_layer(tools, name, options.work)
    if options.of_others:
        tests = of_others
    part, parts = map(int, options.shard.split("/"))
    chosen = [name for name in tests if options.case in name][:: options.every][part::parts]
    return named_tests.run({name: tests[name] for name in chosen}, jobs=options.jobs)


if __name__ == "__main__":
    sys.exit(main())
