#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs serve.py with Triton's client from PyPI: test/Long/serve.sh BUILD [--minutes=N] [--bin=FOLDER]
# --bin names another folder of mpc-run and mpcc than that of BUILD.
# Skipped, and said so, only where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "$1")
python="$build/serve-client/bin/python"
if ! "$python" -c 'import tritonclient.http' 2>/dev/null; then
  /usr/bin/python3 -m venv "$build/serve-client"
  if ! "$python" -m pip download --quiet --no-deps --dest "$build/serve-client/reach" tritonclient==2.73.0; then
    echo "SKIPPED: PyPI cannot be reached; no client of others was tried"
    exit 77
  fi
  "$python" -m pip install --quiet 'tritonclient[http]==2.73.0'
fi
bin=$build/bin
options=()
for option in "${@:2}"; do
  case "$option" in
    --bin=*) bin=${option#*=} ;;
    *) options+=("$option") ;;
  esac
done
exec "$python" test/Long/serve.py "$bin" "${options[@]}"
