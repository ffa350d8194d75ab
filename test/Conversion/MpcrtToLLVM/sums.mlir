// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Sums of the right operand's columns are a service of version 16 of the ABI: behind the factors and the
// result stand the largest element, the sums and what says which kernel runs on the result; what
// there is not is null. So is a left operand that is rounded: flag 32.
// CHECK: module attributes {mpcrt.abi_version = 16 : i32
module {
mpc.variable @w : tensor<8x4xf32> role trainable
func.func private @update(%dw: memref<32xbf16>, %w: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
// Transposed and rounded; then consumed, too.
// CHECK: llvm.mlir.global internal constant @mpcrt_contract_1(
// CHECK: llvm.mlir.constant(49 : i32) : i32
// CHECK: llvm.mlir.global internal constant @mpcrt_contract_0(
// CHECK: llvm.mlir.constant(33 : i32) : i32
// CHECK-LABEL: llvm.func @train_step
// CHECK: %[[NOTHING:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[NOTHING]], %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
// CHECK: llvm.call %{{.*}}(%{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
// CHECK-NOT: llvm.call
func.func @train_step(%x: memref<?x8xf32> {mpc.input = "x"}, %dy: memref<?x4xbf16> {mpc.input = "dy"}, %w: memref<8x4xf32> {mpc.variable = @w},
                      %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 192 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xbf16>
  %db = mpcrt.view %arena[%n] fixed(64) per_sample(0) : memref<?xi8> -> memref<4xf32>
  %most = mpcrt.view %arena[%n] fixed(128) per_sample(0) : memref<?xi8> -> memref<i16>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xbf16> into memref<32xbf16>
  %weights = memref.collapse_shape %w [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %count = arith.constant 32 : index
  mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xbf16>) outs(%dw : memref<8x4xbf16>) largest(%most : memref<i16>) sums(%db : memref<4xf32>) {layer = "dense", transpose_lhs}
  mpcrt.interleave result(0) consumed {
    mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xbf16>) outs(%dw : memref<8x4xbf16>) sums(%db : memref<4xf32>) {layer = "dense", transpose_lhs}
    mpcrt.launch @update count(%count) grain(1000) args(%flat, %weights : memref<32xbf16>, memref<32xf32>)
  }
  return
}
}
