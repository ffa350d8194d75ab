#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs serve.py with Triton's client from PyPI: test/Long/serve.sh BUILD [--minutes=N] [--bin=FOLDER]
# --bin names another folder of mpc-run and mpcc than that of BUILD.
# Skipped, and said so, only where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "$1")
python= # set by pypi.sh
# shellcheck source=/dev/null
. test/Long/pypi.sh
pypi_python "$build/serve-client" tritonclient.http "no client of others was tried" 'tritonclient[http]==2.73.0'
bin=$build/bin
options=()
for option in "${@:2}"; do
  case "$option" in
    --bin=*) bin=${option#*=} ;;
    *) options+=("$option") ;;
  esac
done
exec "$python" test/Long/serve.py "$bin" "${options[@]}"
