# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Environments of Python with Keras and one backend or peer each."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = {"tensorflow": ["tensorflow-cpu==2.21.0"], "jax": ["jax"], "torch": ["torch"], "onnxruntime": ["torch", "onnxruntime", "onnxscript"]}

VERSIONED = ["keras", "tensorflow-cpu", "jax", "torch", "onnxruntime", "numpy"]


def say(text):
    print(text, file=sys.stderr, flush=True)


def versions_of(python):
    """What of the peers an environment has: {"torch": "2.9.1"}."""
    script = "import importlib.metadata as m; print(*{d.metadata['Name'].lower().replace('_', '-') + '=' + d.version for d in m.distributions()})"
    result = subprocess.run([python, "-c", script], capture_output=True, text=True)
    found = dict(word.split("=", 1) for word in result.stdout.split())
    return {name: found[name] for name in VERSIONED if name in found}


def _lacks(python, backend):
    # Keras imports the backend that it is told, TensorFlow if none.
    environment = {**os.environ, "KERAS_BACKEND": "torch" if backend == "onnxruntime" else backend}
    return subprocess.run([python, "-c", f"import keras, {backend}"], capture_output=True, env=environment).returncode


def python_of(backend):
    """A Python with Keras on the backend; None where it cannot be installed."""
    given = os.environ.get("MPC_BENCHMARK_PYTHON_" + backend.upper())
    if given:
        return given
    folder = ROOT / "build" / "benchmarks" / backend
    python = folder / "bin" / "python"
    if _lacks(python, backend) if python.exists() else True:
        say(f"installing Keras on {backend} into {folder.relative_to(ROOT)}")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        installed = subprocess.run([python, "-m", "pip", "install", "--quiet", "keras==3.15.1", "numpy", *PACKAGES[backend]])
        if installed.returncode:
            return None
    return str(python)
