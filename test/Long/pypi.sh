# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
#
# For scripts that need packages of PyPI beside mpc: sourced by them.

# pypi_python FOLDER MODULES UNTRIED PACKAGE...: sets `python` to that of an environment in FOLDER where MODULES
# (with commas between them) can be imported, for which the packages are installed. Ends the script as skipped, with
# what was left UNTRIED, only where the first package cannot be fetched.
pypi_python() {
  python="$1/bin/python"
  if "$python" -c "import $2" 2>/dev/null; then return; fi
  [ -x "$python" ] || /usr/bin/python3 -m venv "$1"
  if ! "$python" -m pip download --quiet --no-deps --dest "$1/reach" "$4"; then
    echo "SKIPPED: PyPI cannot be reached; $3"
    exit 77
  fi
  "$python" -m pip install --quiet "${@:4}"
}
