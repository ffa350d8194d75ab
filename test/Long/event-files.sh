#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs event_files.py with TensorBoard from PyPI: test/Long/event-files.sh BUILD
# Skipped, and said so, only where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "$1")
python= # set by pypi.sh
# shellcheck source=/dev/null
. test/Long/pypi.sh
pypi_python "$build/tensorboard" tensorboard "no reader of others was tried" tensorboard==2.20.0 'setuptools<81' # which it imports and does not ask for
exec "$python" test/Long/event_files.py "$build/bin" "$build/test/Numerics/tensorboard"
