# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints an entry of N contractions, each followed by a launch and, with a second argument, by a store."""

import sys

print("""module {
mpc.variable @w : tensor<8x8xf32> role trainable
mpc.variable @s : tensor<f32> role non_trainable
func.func private @half(%y: memref<?x8xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x8xf32> {mpc.variable = @w}, %s: memref<f32> {mpc.variable = @s},
                   %y: memref<?x8xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %zero = arith.constant 0.0 : f32""")
for _ in range(int(sys.argv[1])):
    print("""  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x8xf32>) outs(%y : memref<?x8xf32>) {layer = "dense"}
  mpcrt.launch @half count(%n) grain(64) args(%y : memref<?x8xf32>)""")
    if len(sys.argv) > 2:
        print("  memref.store %zero, %s[] : memref<f32>")
print("  return\n}\n}")
