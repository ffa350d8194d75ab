// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Products that parts of a batch may sum have a flag (128); the left operand is transposed (1).
module {
// CHECK: llvm.mlir.global internal constant @mpcrt_contract_0(
// CHECK: llvm.mlir.constant([112 : i32, 0 : i32, 1 : i32, 1 : i32, 0 : i32, 0 : i32, 129 : i32,
func.func @train_backward(%x: memref<?x8xbf16> {mpc.input = "x"}, %dy: memref<?x4xbf16> {mpc.input = "dy"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_backward>, mpcrt.arena_fixed = 128 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  mpcrt.contract ins(%x, %dy : memref<?x8xbf16>, memref<?x4xbf16>) outs(%dw : memref<8x4xf32>) {layer = "dense", summed_by_parts, transpose_lhs}
  return
}
}
