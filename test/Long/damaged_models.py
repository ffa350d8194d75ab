#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds mpcc damaged model files: cut off, with flipped bytes, with changed JSON, and architectures of
every fixture with a number or a flag that is a little off.

Whatever comes in, mpcc must end with 0 (the damage did not matter) or 1 and a message, never with a
crash, an internal error or a timeout, and a failing run must leave no output folder. The damage is
the same on every run. Usage: damaged_models.py BIN [TRIES]
"""

import glob
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import places  # noqa: E402  pylint: disable=wrong-import-position


def cut(data, generator):
    return data[: generator.randrange(len(data))]


def flip(data, generator):
    damaged = bytearray(data)
    for _ in range(generator.choice([1, 4, 64])):
        damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
    return bytes(damaged)


def nudge(data, generator):
    """The architecture alone, which needs no weights that fit, with one or two numbers or flags made a
    little larger or smaller, or turned."""
    text = zipfile.ZipFile(io.BytesIO(data)).read("config.json").decode()
    for _ in range(generator.choice([1, 1, 2])):
        place = generator.choice(list(re.finditer(r"(?<![\w.])-?\d+(?![\w.])|\b(?:true|false|null)\b", text)))
        old = place.group()
        if old[0].isalpha():
            new = generator.choice(["true", "false", "null", "1"])
        else:
            new = str(generator.choice([int(old) + 1, int(old) - 1, int(old) * 2, 0, 1, 3]))
        text = text[: place.start()] + new + text[place.end() :]
    return text.encode()


def change_json(data, generator):
    """A number, a string, a list or a whole object of config.json replaced by something else."""
    source = zipfile.ZipFile(io.BytesIO(data))
    content = {name: source.read(name) for name in source.namelist()}
    config = json.loads(content["config.json"])
    places = []

    def visit(value):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            places.append((value, key))
            if isinstance(item, (dict, list)):
                visit(item)

    visit(config)
    holder, key = generator.choice(places)
    holder[key] = generator.choice([None, -1, 2**62, 1e300, "", "x" * 5000, [], {}, True, [[[]]]])
    content["config.json"] = json.dumps(config).encode()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, member in content.items():
            archive.writestr(name, member)
    return target.getvalue()


def main():
    tools = sys.argv[1]
    tries = int(sys.argv[2]) if len(sys.argv) > 2 else 700
    fixtures = places.fixtures("keras")
    models = [
        os.path.join(fixtures, name, "model.keras")
        for name in ("forward/sequential_mlp__float32", "train/mlp__mixed_float16",
                     "forward/activations_layers__float32")
    ]  # fmt: skip
    every = sorted(glob.glob(os.path.join(fixtures, "*", "*", "model.keras")))
    generator = random.Random(20261121)
    work = tempfile.mkdtemp(prefix="mpc-damaged-")
    failures = 0
    for number in range(tries):
        damage = generator.choice([cut, flip, change_json, nudge, nudge, nudge])
        with open(generator.choice(every if damage is nudge else models), "rb") as handle:
            data = handle.read()
        path = os.path.join(work, "model.json" if damage is nudge else "model.keras")
        with open(path, "wb") as handle:
            handle.write(damage(data, generator))
        output = os.path.join(work, "out")
        try:
            result = subprocess.run(
                [os.path.join(tools, "mpcc"), path, "--compile-to=kernels", "-o", output],
                capture_output=True, text=True, errors="replace", timeout=120,
            )  # fmt: skip
            code, message = result.returncode, result.stderr
        except subprocess.TimeoutExpired:
            code, message = "timeout", ""
        problem = None
        if code not in (0, 1):
            problem = f"exit {code}"
        elif code == 1 and not re.search(r"^error: ", message, re.M):
            problem = "exit 1 without a message"
        elif "internal error" in message:
            problem = "an internal error"
        elif code == 1 and os.path.exists(output):
            problem = "failed, but left its output"
        if problem:
            failures += 1
            kept = os.path.join(tempfile.gettempdir(), f"damaged-{number}{os.path.splitext(path)[1]}")
            shutil.copy(path, kept)
            print(f"{damage.__name__} {number}: {problem}; kept {kept}\n{message[-500:]}")
        if os.path.isdir(output):
            shutil.rmtree(output)
        elif os.path.exists(output):
            os.remove(output)
    shutil.rmtree(work)
    print(f"ran {tries} tests")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
