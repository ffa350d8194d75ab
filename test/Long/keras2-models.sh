#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Models of Keras 2, made by tf_keras from PyPI, and what mpc predicts of their files:
# test/Long/keras2-models.sh BUILD. The rows of docs/keras-2.md name the models.
# MPC_KERAS2_PYTHON names a Python that has tf_keras; else one is made in the build folder.
# Skipped, and said so, only where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
python="${MPC_KERAS2_PYTHON:-}"
if [ -z "$python" ]; then
  # shellcheck source=/dev/null
  . test/Long/pypi.sh
  pypi_python "$build/keras2" tf_keras "nothing was compared with Keras 2" tf_keras==2.16.0 tensorflow-cpu==2.16.2
fi
export TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=
cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT
"$python" test/Long/keras2_models.py "$cases"
/usr/bin/python3 test/Conformance/keras2.py --bin "$build/bin" --fixtures "$cases"
