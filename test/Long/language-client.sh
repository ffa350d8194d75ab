#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs language_client.py with pygls from PyPI: test/Long/language-client.sh BUILD
# Skipped, and said so, only where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
python="$build/language-client/bin/python"
if ! "$python" -c 'import pygls' 2>/dev/null; then
  /usr/bin/python3 -m venv "$build/language-client"
  if ! "$python" -m pip download --quiet --no-deps --dest "$build/language-client/reach" pygls==2.1.1; then
    echo "SKIPPED: PyPI cannot be reached; no client of others was tried"
    exit 77
  fi
  "$python" -m pip install --quiet pygls==2.1.1
fi
exec "$python" test/Long/language_client.py "$build/bin"
