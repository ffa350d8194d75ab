#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs language_client.py with pygls from PyPI: test/Long/language-client.sh BUILD
# Skipped, and said so, only where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
python= # set by pypi.sh
# shellcheck source=/dev/null
. test/Long/pypi.sh
pypi_python "$build/language-client" pygls "no client of others was tried" pygls==2.1.1
exec "$python" test/Long/language_client.py "$build/bin"
