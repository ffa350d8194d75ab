#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs a script with Keras from PyPI: test/Long/real-keras.sh BUILD [SCRIPT], SCRIPT being
# real_keras.py (training with random options), layer_options.py and unusual_options.py (layers with
# random options), recorded_options.py (operations with random options), losses_and_metrics.py,
# long_reductions.py (sums that overflow in 16 bits), singular_points.py (derivatives there), composed_models.py (models of many layers), gallery.py (the models of Keras's examples), field_models.py (models and trainings of other kinds),
# hub_models.py (KerasHub's layers and backbones),
# quantized_models.py (int8, int4, float8), calibrated_models.py (gptq, awq), searched_policies.py (maps of
# --policy=auto) or keras_files.py (files to and from Keras).
# MPC_KERAS_PYTHON names a Python that has keras and tensorflow; else one is made in the build folder.
# Skipped, and said so, only where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
python="${MPC_KERAS_PYTHON:-}"
if [ -z "$python" ]; then
  # shellcheck source=/dev/null
  . test/Long/pypi.sh
  pypi_python "$build/keras" keras,scipy,tensorflow "nothing was compared with real Keras" keras==3.15.1 tensorflow-cpu==2.21.0 scipy==1.17.1
  if [ "${2:-}" = hub_models.py ]; then
    pypi_python "$build/keras" keras_hub "nothing was compared with KerasHub" keras-hub==0.32.0 keras==3.15.1 tensorflow-cpu==2.21.0
  fi
fi
export TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=
exec "$python" "test/Long/${2:-real_keras.py}" "$build/bin"
