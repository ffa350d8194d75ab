#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds everything with the address and undefined behaviour sanitizers (preset asan) and runs the
# quick tests with it, but for those that build C programs or load the runtime into Python (neither
# links a sanitizer), and those that run the same code for many numbers, which would take the shard's
# whole time.
set -euo pipefail
cd "$(dirname "$0")/../.."

cmake --preset asan >/dev/null
cmake --build --preset asan -j "$(nproc)" | tail -n 3
# LLVM's packages are built without sanitizers: containers that cross into them look broken,
# memory that their allocators hand out looks poisoned, and what they keep for the life of the process
# looks leaked. Tests of the software device expect to die by SIGSEGV.
export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0:abort_on_error=0:handle_segv=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
ctest --test-dir build/asan -L '^quick$' -E '^(Checks/|Conformance/|CustomLoop|FakeCuda/(attention|conformance|driver|float8|gelu|guide|prefetch|prepared|tensors)|Install|Library|Python|RandomGraphs|SoftwareTiles/)' --output-on-failure -j "$(nproc)" |
  tee "$log" || status=$?
echo "ran $(sed -n 's/.* tests failed out of \([0-9]*\)$/\1/p' "$log") tests"
exit "$status"
