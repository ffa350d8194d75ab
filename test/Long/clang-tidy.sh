#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# clang-tidy over every source file of the compiler, runtime and tools: test/Long/clang-tidy.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1

mapfile -t files < <(git ls-files 'lib/*.cpp' 'dialects/*.cpp' 'runtime/*.cpp' 'tools/*.cpp' | sort)
[ "${#files[@]}" -gt 0 ] || { echo "clang-tidy: error: no source files found" >&2; exit 1; }
# The precompiled header was made by a compile that clang-tidy cannot repeat: it reads the headers.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sed -E 's/-Xclang -include-pch -Xclang [^ "]+//g; s/-Xclang -fno-pch-timestamp//g; s/-Winvalid-pch//g; s/-fpch-instantiate-templates//g' \
  "$build/compile_commands.json" >"$folder/compile_commands.json"
printf '%s\n' "${files[@]}" |
  xargs -P "$(nproc)" -n 4 clang-tidy-22 -p "$folder" --quiet --warnings-as-errors='*' 2>"$folder/errors" ||
  { echo "clang-tidy: findings above"; exit 1; }
echo "ran ${#files[@]} tests"
