#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares mpc with Keras from PyPI on models that no fixture holds: test/Long/real-keras.sh BUILD.
# MPC_KERAS_PYTHON names a Python that has keras and tensorflow; else one is made in the build folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
python="${MPC_KERAS_PYTHON:-}"
if [ -z "$python" ]; then
  python="$build/keras/bin/python"
  if ! "$python" -c 'import keras, tensorflow' 2>/dev/null; then
    /usr/bin/python3 -m venv "$build/keras"
    "$python" -m pip install --quiet keras==3.15.1 tensorflow-cpu==2.21.0
  fi
fi
export TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=
exec "$python" test/Long/real_keras.py "$build/bin"
