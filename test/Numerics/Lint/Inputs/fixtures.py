# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fixtures.py FIXTURES FOLDER [KIND...]: what mpcc --lint says of models that Keras computes well.

Each alarm of a fixture that is not told here is false, or the list lacks its reason. Ends with the
line `ran N tests`."""

import pathlib
import re
import subprocess
import sys

PURE16 = {"no-loss-scale", "float16-variables"}
# Keras runs these, too; the hazards are there, and their data do not meet them.
EXPECTED = {
    # The names say it: variables of 16 bits.
    "train/mlp_pure__float16": PURE16,
    "train/mlp_pure__bfloat16": {"bfloat16-variables"},
    "gradient/sequential_mlp__float16": PURE16,
    "gradient/sequential_mlp__bfloat16": {"bfloat16-variables"},
    "loss_scale/pure_float16": PURE16,
    # The activation `exponential` on a Dense layer, which nothing bounds.
    "forward/dense_acts_c__mixed_float16": {"unguarded-exp"},
}


def lint(model, out):
    command = ["mpcc", str(model), "--lint", "--compile-to=casts", "-o", str(out)]
    run = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, check=False)
    if run.returncode:
        sys.exit(f"{model}: mpcc ended with {run.returncode}: {run.stderr}")
    return run.stderr


def main():
    fixtures, out, *kinds = sys.argv[1:]
    wrong, ran = 0, 0
    for model in sorted(pathlib.Path(fixtures).glob("*/*/model.keras")):
        case = f"{model.parts[-3]}/{model.parts[-2]}"
        if kinds and model.parts[-3] not in kinds:
            continue
        told = lint(model, out)
        ran += 1
        if set(re.findall(r"\[lint-([a-z0-9-]+)\]", told)) != EXPECTED.get(case, set()):
            print(f"{case}: expected {sorted(EXPECTED.get(case, set()))}, got:\n{told}")
            wrong += 1
    print(f"ran {ran} tests")
    return wrong != 0 or ran == 0


if __name__ == "__main__":
    sys.exit(main())
