#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds the runtime with ThreadSanitizer (preset tsan), runs its suites with it, then eight threads
# of 10,000 predictions each over one model, with contexts of one thread and of two, and a server with
# 64 connections (left out where PyPI cannot be reached, which has the client), and trainings in eight
# parts of a batch, on one rank and on two:
#
#   test/Long/thread-sanitizer.sh BUILD      BUILD has bin/mpcc, which needs no sanitizer
set -euo pipefail
tools=$(realpath "$1")/bin
cd "$(dirname "$0")/../.."
build=build/tsan
suites=(MpcRuntimeBaseTests MpcRuntimeCollectivesTests MpcRuntimeConformanceTests MpcRuntimeExecutionTests
  MpcRuntimeInitializersTests MpcRuntimeProductTests MpcRuntimeScalerTests MpcRuntimeThreadsTests MpcDataTests MpcCheckpointTests MpcTrainingTests)

cmake --preset tsan >/dev/null
cmake --build --preset tsan -j "$(nproc)" --target mpcrt mpc-run mpc-test-parts mpc-test-gather "${suites[@]}" | tail -n 1
# One test's child of a fork starts threads.
# oneDNN is built without it, too: how its threads share what it allocates is not seen.
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 suppressions=$PWD/test/Long/libgomp.supp halt_on_error=1 die_after_fork=0"
pattern=$(IFS='|' && echo "^Unit/(${suites[*]})\$")
ctest --test-dir "$build" -R "$pattern" --no-tests=error --output-on-failure -j "$(nproc)"
ran=${#suites[@]}

work=$build/threads
rm -rf "$work"
mkdir -p "$work"
"$tools/mpcc" -q --name=net -o "$work/net.mpc" "$tools/../fixtures/keras/train/mlp__mixed_float16/model.keras"
clang-22 -std=gnu99 -Wall -Wextra -Werror -O1 -g -fsanitize=thread test/Library/threads.c \
  -I"$work/net.mpc" -Iinclude -L"$work/net.mpc" -lnet -L"$build/lib" -lmpcrt -o "$work/threads" \
  -Wl,-rpath,"$PWD/$build/lib:$PWD/$work/net.mpc"
for team in 1 2; do
  "$work/threads" "$work/net.mpc" 8 10000 "$team"
  ran=$((ran + 1))
done

mkdir -p "$work/bin" "$work/test/bin"
ln -sf "$tools/mpcc" "$PWD/$build/bin/mpc-run" "$work/bin/"
ln -sf "$PWD/$build"/test/bin/mpc-test-{parts,gather} "$work/test/bin/"

# Each part has a thread, which sums with the others; messages go beside them. The update of an Embedding's rows is computed by
# all parts. Messages of a run without parts go while the next step begins.
distributed() {
  "${MPC_PYTHON:-/usr/bin/python3}" "test/Distributed/$1" --bin "$work/bin" --work "$work/$1" "${@:2}"
  ran=$((ran + 1))
}
distributed identical.py --parts 8 --ranks 2 --models mlp cnn clipped_lstm regularized wide --shard
distributed shards.py --ranks 2 --optimizers adam
status=0
test/Long/serve.sh "$(dirname "$tools")" --bin="$work/bin" --minutes=0.5 --sanitized || status=$?
case "$status" in
  0) ran=$((ran + 1)) ;;
  77) ;;
  *) exit "$status" ;;
esac
echo "ran $ran tests"
