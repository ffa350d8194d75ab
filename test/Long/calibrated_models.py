# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that real Keras quantized with calibration data (gptq, awq), predicted by mpc.

Dense and EinsumDense of two and three dimensions, every number of bits, groups, order of the inputs. Keras 3.14 to
3.15.1 leave `kernel_zero` out of the file and do not load it again; here the file has all that their own loading
expects, as those of Keras 3.13 have, and what they leave out is checked to be refused.
Case N is the same in every run. Usage: calibrated_models.py BIN [MODELS [FIRST]] [--keep FOLDER]
"""

import os
import random
import subprocess
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy
import real_keras
from keras import layers, quantizers

SOURCES = ["float32", "mixed_bfloat16", "mixed_float16", "float32"]
# (Largest difference, its root mean square) relative to the root mean square of the outputs; of bfloat16 those of
# quantized_models.py: Keras alone is up to 4e-2 from the same model in float32, mpc half of that.
LIMITS = {"float32": (2e-5, 2e-5), "mixed_bfloat16": (1e-1, 2e-2), "mixed_float16": (5e-3, 5e-3)}
ROWS, STEPS = 16, 6
as_keras_saves = {}


def save_all(layer, store):
    """What load_own_variables of the class reads."""
    mode = layer.quantization_mode
    if mode not in ("gptq", "awq"):
        return as_keras_saves[type(layer)](layer, store)
    names = [n for n in layer.variable_serialization_spec[mode] if n != "bias" or layer.bias is not None]
    for place, name in enumerate(names):
        store[str(place)] = getattr(layer, name)


for cls in (layers.Dense, layers.EinsumDense):
    as_keras_saves[cls] = cls.save_own_variables


def build(d):
    """(model, its structure for calibration)."""
    width, heads, size = d.randrange(5, 24), d.randrange(1, 4), d.randrange(2, 6)
    inputs = keras.Input((STEPS,), dtype="int32")
    embedding = layers.Embedding(11, width)
    inside = keras.Input((STEPS, width))
    y = layers.Dense(d.randrange(1, 20), activation=d.choice(["gelu", None]), use_bias=d.random() < 0.7, name="up")(inside)
    y = layers.EinsumDense("abc,cde->abde", (STEPS, heads, size), bias_axes=d.choice([None, "de"]), name="heads")(y)
    y = layers.EinsumDense("abde,dec->abc", (STEPS, d.randrange(max(heads, size) + 1, 20)), bias_axes=d.choice([None, "c"]), name="out")(y)
    y = layers.EinsumDense("abc,cd->abd", (STEPS, d.randrange(1, 20)), name="flat")(y)
    block = keras.Model(inside, layers.Dense(width, name="down")(y), name="block")
    x = layers.GlobalAveragePooling1D()(block(embedding(inputs)))
    model = keras.Model(inputs, layers.Dense(3, name="head")(x))
    return model, {"pre_block_layers": [embedding], "sequential_blocks": [block]}


def make_config(d, mode, data):
    common = {"dataset": [row[None] for row in data], "tokenizer": lambda text: text, "num_samples": 8,
              "sequence_length": STEPS, "group_size": d.choice([-1, 3, 4, 128])}  # fmt: skip
    if mode == "awq":
        return quantizers.AWQConfig(**common, num_grid_points=4)
    return quantizers.GPTQConfig(**common, weight_bits=d.choice([2, 3, 4, 4, 8]), symmetric=d.random() < 0.3,
                                 activation_order=d.random() < 0.4)  # fmt: skip


def save(model, path, whole):
    for cls, own in as_keras_saves.items():
        cls.save_own_variables = save_all if whole else own
    model.save(path)


def check(number, tools, folder):
    d, mode, source = random.Random(number), "awq" if number % 3 == 2 else "gptq", SOURCES[number % len(SOURCES)]
    keras.utils.set_random_seed(number)
    keras.config.set_dtype_policy(source)
    model, structure = build(d)
    data = numpy.random.RandomState(number).randint(0, 11, size=(ROWS, STEPS)).astype("int32")
    config = make_config(d, mode, data)
    model.get_quantization_layer_structure = lambda mode: structure
    model.quantize(mode, config=config, filters="up|heads|out|flat|down")
    keras.config.set_dtype_policy("float32")
    path, lacking = os.path.join(folder, "model.keras"), os.path.join(folder, "lacking.keras")
    save(model, path, whole=True)
    save(model, lacking, whole=False)
    loaded = keras.saving.load_model(path)
    expected = keras.ops.convert_to_numpy(keras.ops.cast(loaded(data), "float32"))
    npz, output, compiled = (os.path.join(folder, name) for name in ("data.npz", "out.npz", "model.mpc"))
    numpy.savez(npz, x0=data)
    mpcc = os.path.join(tools, "mpcc")
    real_keras.run(mpcc, path, "--output-guard=off", "--march=native", "--name=model", "-o", compiled)
    real_keras.run(os.path.join(tools, "mpc-run"), "predict", compiled, "--inputs", npz, "--outputs", output)
    scale = numpy.sqrt(numpy.mean(expected**2))
    error, (most, mean) = (numpy.load(output)["out0"] - expected) / scale, LIMITS[source]
    error = max(numpy.max(numpy.abs(error)) / most, numpy.sqrt(numpy.mean(error**2)) / mean)
    refused = subprocess.run([mpcc, lacking, "-o", os.path.join(folder, "no.mpc")], capture_output=True, text=True)
    says = refused.returncode == 1 and "leave the zero points of gptq and awq out" in refused.stderr
    good = bool(error <= 1) and says
    name = loaded.get_layer("block").get_layer("up").dtype_policy.name
    print(f"{'ok  ' if good else 'FAIL'} model {number} {name}: {error:.2g} of the tolerance{'' if says else '; without kernel_zero: ' + refused.stderr}")
    return good


if __name__ == "__main__":
    sys.exit(real_keras.main(check, __doc__, 24))
