#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs a script of this folder with the wheel onnx from PyPI: test/ONNX/run.sh BUILD SCRIPT [ARGUMENT...]
# MPC_ONNX_PYTHON names a Python that has it; else one is made in the build folder. Skipped, and said so,
# only where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 script=$2
shift 2
python="${MPC_ONNX_PYTHON:-}"
if [ -z "$python" ]; then
  python="$build/onnx/bin/python"
  wheels=(onnx==1.23.2 numpy==2.4.6 ml_dtypes==0.6.0 onnxruntime==1.32.0 onnx_ir==1.1.0)
  if ! "$python" -c 'import ml_dtypes, numpy, onnx, onnx_ir, onnxruntime' 2>/dev/null; then
    # Suites that run beside each other make it once.
    mkdir -p "$build/onnx"
    exec 9>"$build/onnx/lock"
    flock 9
    [ -x "$python" ] || /usr/bin/python3 -m venv "$build/onnx"
    if ! "$python" -m pip download --quiet --no-deps --dest "$build/onnx/reach" onnx==1.23.2; then
      echo "SKIPPED: PyPI cannot be reached; no case of ONNX was run"
      exit 77
    fi
    "$python" -m pip install --quiet "${wheels[@]}"
    exec 9>&-
  fi
fi
exec "$python" "test/ONNX/$script" "$build/bin" "$@"
