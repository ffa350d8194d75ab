#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# clang-tidy over every source file of the compiler, runtime and tools, one by one: in build/tidy,
# where only the generated headers and the precompiled one are built.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=build/tidy
cmake --preset release -B "$build" -DCMAKE_UNITY_BUILD=OFF >/dev/null
cmake --build "$build" --target MpcPrecompiled MpcPassIncGen -j "$(nproc)" >/dev/null

mapfile -t files < <(git ls-files 'lib/*.cpp' 'dialects/*.cpp' 'runtime/*.cpp' 'tools/*.cpp' | sort)
[ "${#files[@]}" -gt 0 ] || { echo "clang-tidy: error: no source files found" >&2; exit 1; }
printf '%s\n' "${files[@]}" |
  xargs -P "$(nproc)" -n 4 clang-tidy-22 -p "$build" --quiet 2>/dev/null ||
  { echo "clang-tidy: findings above"; exit 1; }
echo "ran ${#files[@]} tests"
