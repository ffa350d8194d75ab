# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real Keras 3 computes what a case expects: keras3.py OUT CASE_FOLDER... writes OUT/KIND/CASE/expected.npz.

record.py starts it, in an environment that has Keras and TensorFlow. The arrays are those that the
fixtures' README names. A new case, which has no case.json yet, names its kind by its folder and is
described beside (describe.py). Layers run eagerly, one operation at a time.
"""

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import describe
import evaluation
import keras
import numpy as np
import training

RECORDERS = {
    "forward": evaluation.record_forward,
    "policy_map": evaluation.record_forward,
    "quantized": evaluation.record_quantized,
    "losses": evaluation.record_loss,
    "metrics": evaluation.record_metric,
    "gradient": training.record_gradient,
    "train": training.record_training,
    "loss_scale": training.record_training,
}


class Case:
    def __init__(self, folder):
        self.folder = folder
        self.kind = os.path.basename(os.path.dirname(folder))
        self.name = os.path.basename(folder)
        self.is_new = not os.path.exists(self.path("case.json"))
        if self.is_new:
            self.description = describe.beginning(self.kind, self.name, self.path("model.keras"))
        else:
            with open(self.path("case.json")) as handle:
                self.description = json.load(handle)
        with np.load(self.path("data.npz")) as arrays:
            self.data = {name: arrays[name] for name in arrays.files}
        self.description.setdefault("batch", len(next(iter(self.data.values()))))

    def path(self, name):
        return os.path.join(self.folder, name)

    def load(self, policy="float32"):
        keras.config.set_dtype_policy(policy)
        return keras.saving.load_model(self.path("model.keras"))


def stored(array):
    """Floats of any width are stored as float32."""
    array = array if isinstance(array, np.ndarray) else keras.ops.convert_to_numpy(array)
    floating = array.dtype.kind == "f" or array.dtype.name == "bfloat16"
    return np.asarray(array, np.float32) if floating else np.asarray(array)


def record(case, out):
    steps = case.description["steps"]
    recorder = training.record_training if case.kind == "quantized" and steps else RECORDERS[case.kind]
    arrays = {name: stored(array) for name, array in recorder(case).items()}
    if case.kind == "quantized" and not case.is_new:  # from before the quantization: not in the file
        with np.load(case.path("expected.npz")) as before:
            arrays.update({name: before[name] for name in before.files if name.startswith("float_out")})
    folder = os.path.join(out, case.kind, case.name)
    os.makedirs(folder, exist_ok=True)
    np.savez_compressed(os.path.join(folder, "expected.npz"), **arrays)
    if case.is_new:
        describe.finish(case, arrays)
    case.description["keras_version"] = keras.__version__
    with open(os.path.join(folder, "case.json"), "w") as handle:
        json.dump(case.description, handle, indent=1)
        handle.write("\n")


def main():
    failed = 0
    for folder in sys.argv[2:]:
        case = Case(folder)
        keras.utils.set_random_seed(1)
        try:
            record(case, sys.argv[1])
        except Exception as error:  # The others are recorded still.
            print(f"error: {case.kind}/{case.name}: {type(error).__name__}: {error}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
