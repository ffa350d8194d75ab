#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Eight threads over one model under valgrind, which runs the AVX2 kernels: 10,000 predictions each
# leak nothing, touch nothing that is not theirs, and need no more memory than 100 each.
#
#   test/Long/memory.sh BUILD
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/bin/mpcc" -q --name=net -o "$work/net" "$build/fixtures/keras/train/mlp__mixed_float16/model.keras"
cc -std=gnu99 -Wall -Wextra -Werror -O1 -g test/Library/threads.c -I"$work/net" -Iinclude \
  -L"$work/net" -lnet -L"$build/lib" -lmpcrt -lpthread -o "$work/threads" \
  -Wl,-rpath,"$build/lib:$work/net"

"$work/threads" "$work/net" 8 10000
echo "ok    right results, no growth by the system's count"

# valgrind's own memory grows, too: the heap is measured below.
valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
  "$work/threads" "$work/net" 8 10000 1 1000000 >"$work/memcheck" 2>&1 || { tail -n 60 "$work/memcheck"; exit 1; }
echo "ok    no leaks, no wrong accesses"

c++ -std=c++17 -Wall -Wextra -Werror -O1 -g test/Library/ends.cpp -Iinclude -L"$build/lib" -lmpcrt -lpthread \
  -o "$work/ends" -Wl,-rpath,"$build/lib"
valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,possible \
  --errors-for-leak-kinds=definite,possible "$work/ends" "$work/net" 64 >"$work/memcheck" 2>&1 ||
  { tail -n 60 "$work/memcheck"; exit 1; }
echo "ok    eight contexts of three threads leave nothing, also not possibly"

peak() {
  valgrind -q --tool=massif --massif-out-file="$work/massif" "$work/threads" "$work/net" 8 "$1" 1 1000000 >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 1; }
  sed -n 's/^mem_heap_B=//p' "$work/massif" | sort -n | tail -n 1
}
few=$(peak 100)
many=$(peak 10000)
echo "heap: $few bytes with 100 predictions each, $many with 10,000"
[ "$many" -le $((few + few / 10 + 65536)) ] || { echo "FAIL  memory grows"; exit 1; }
echo "ok    no growth of the heap"
echo "ran 4 tests"
