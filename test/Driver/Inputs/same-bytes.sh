#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# same-bytes.sh FIXTURES FOLDER CASE MARCH: trains the case by code of -O0 and of -O2, and compares what came out.
set -euo pipefail
case="$1/$3"
for level in 0 2; do
  mpcc "$case/model.keras" --name=net --march="$4" "-O$level" -q -o "$2/O$level"
  mpc-run train "$2/O$level" --data "$case/data.npz" --steps 3 --batch-size 4 --shuffle=off --trace "$2/O$level.npz" 2>/dev/null
done
cmp "$2/O0.npz" "$2/O2.npz"
if cmp -s "$2/O0/libnet.so" "$2/O2/libnet.so"; then
  echo "same-bytes: error: $3: the libraries are one; expected other code of -O0" >&2
  exit 1
fi
