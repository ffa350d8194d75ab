#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Packs what record.py wrote as recorded.tar.xz, the same bytes for the same files: test/ONNX/training/pack.sh FOLDER
set -euo pipefail
archive="$(cd "$(dirname "$0")" && pwd)/recorded.tar.xz"
trap 'rm -f "$archive.new"' EXIT
cd "$1"
LC_ALL=C tar --sort=name --format=ustar --mtime='2026-01-01 00:00Z' --owner=0 --group=0 --numeric-owner \
  --mode=u=rw,go=r -cf - -- *.json *.onnx | xz -9e -T1 >"$archive.new"
mv "$archive.new" "$archive"
echo "$archive: $(stat -c %s "$archive") bytes"
