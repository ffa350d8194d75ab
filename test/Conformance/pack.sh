#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Packs a folder of cases as test/Conformance/cases.tar.xz, the same bytes for the same files:
#
#   test/Conformance/pack.sh [FOLDER]       default: build/release/fixtures, where CMake unpacks them
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder="${1:-$root/build/release/fixtures}"
archive="$root/test/Conformance/cases.tar.xz"
for part in keras keras2 policies; do
  [ -d "$folder/$part" ] || { echo "pack: error: $folder/$part: no such folder; expected all of the fixtures" >&2; exit 1; }
done
trap 'rm -f "$archive.new"' EXIT
LC_ALL=C tar --sort=name --format=ustar --mtime='2026-01-01 00:00Z' --owner=0 --group=0 --numeric-owner \
  --mode=u=rwX,go=rX -C "$folder" -cf - keras keras2 policies | xz -9e -T1 >"$archive.new"
mv "$archive.new" "$archive"
echo "$archive: $(stat -c %s "$archive") bytes"
