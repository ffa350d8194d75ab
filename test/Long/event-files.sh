#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs event_files.py with TensorBoard from PyPI: test/Long/event-files.sh BUILD
# Skipped, and said so, only where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "$1")
python="$build/tensorboard/bin/python"
if ! "$python" -c 'import tensorboard' 2>/dev/null; then
  /usr/bin/python3 -m venv "$build/tensorboard"
  if ! "$python" -m pip download --quiet --no-deps --dest "$build/tensorboard/reach" tensorboard==2.20.0; then
    echo "SKIPPED: PyPI cannot be reached; no reader of others was tried"
    exit 77
  fi
  "$python" -m pip install --quiet tensorboard==2.20.0 'setuptools<81' # which it imports and does not ask for
fi
exec "$python" test/Long/event_files.py "$build/bin" "$build/test/Numerics/tensorboard"
