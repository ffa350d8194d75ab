#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds a half of everything with the address and undefined behaviour sanitizers (preset asan) and
# runs its quick tests:
#
#   test/Long/sanitizers.sh compiler    all but the other half; of the models, every fourth one
#   test/Long/sanitizers.sh runtime     the unit and conformance tests of the runtime
#
# Left away are tests that build C programs or load the runtime into Python (neither links a
# sanitizer), and those that run the same code for many numbers, which would take the shard's whole
# time.
set -euo pipefail
cd "$(dirname "$0")/../.."

# LLVM's packages are built without sanitizers: containers that cross into them look broken,
# memory that their allocators hand out looks poisoned, and what they keep for the life of the process
# looks leaked. Tests of the software device expect to die by SIGSEGV.
export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0:abort_on_error=0:handle_segv=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
runtime='^Unit/Mpc(Runtime|SoftwareTiles|Tiles)'
status=0

# build TARGET...: all without one.
build() {
  cmake --preset asan >/dev/null
  cmake --build --preset asan -j "$(nproc)" ${1:+--target "$@"} | tail -n 3
}

# run_suites OPTION...: sets `suites` to how many ran.
run_suites() {
  ctest --test-dir build/asan -L '^quick$' "$@" --no-tests=error --output-on-failure -j "$(nproc)" |
    tee "$log" || status=$?
  suites=$(sed -n 's/.* tests failed out of \([0-9]*\)$/\1/p' "$log")
}

case "${1:-}" in
compiler)
  build
  run_suites -E "$runtime|^(Checks/|Conformance/|CustomLoop|FakeCuda/(attention|conformance|driver|float8|gelu|guide|prefetch|prepared|tensors)|Install|Library|Models|Names|Python|RandomGraphs|SoftwareTiles/)"
  test/Models/run.py --bin build/asan/bin --work build/asan/models --every 4 | tee "$log" || status=$?
  models=$(sed -n 's/^ran \([0-9]*\) tests$/\1/p' "$log")
  # All of them but the one that loads the runtime into Python.
  test/Names/run.py --bin build/asan/bin --runtime build/asan/lib/libmpcrt.so --include include \
    --work build/asan/names --without errors_of_the_library | tee "$log" || status=$?
  models=$((models + $(sed -n 's/^ran \([0-9]*\) tests$/\1/p' "$log")))
  ;;
runtime)
  build MpcRuntimeBaseTests MpcRuntimeConformanceTests MpcRuntimeExecutionTests \
    MpcRuntimeInitializersTests MpcRuntimeOnednnTests MpcRuntimeProductTests MpcRuntimeRoundingTests \
    MpcRuntimeScalerTests MpcSoftwareTilesTests MpcTilesConformanceTests MpcTilesProductTests mpcrt
  run_suites -R "$runtime"
  models=0
  ;;
*)
  echo "usage: test/Long/sanitizers.sh compiler|runtime" >&2
  exit 2
  ;;
esac
echo "ran $((suites + models)) tests"
exit "$status"
