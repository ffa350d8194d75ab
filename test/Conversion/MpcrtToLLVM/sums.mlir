// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Sums of the right operand's columns are at byte 64, the largest element at 48, the kernel on the result at 56. A left
// operand that is rounded is flag 32.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 32 : i64
module {
mpc.variable @w : tensor<8x4xf32> role trainable
func.func private @update(%dw: memref<32xbf16>, %w: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
// Transposed and rounded; then consumed, too.
// CHECK: llvm.mlir.global internal constant @mpcrt_contract_1(
// CHECK: llvm.mlir.constant([112 : i32, 1 : i32, 0 : i32, 1 : i32, 1 : i32, 1 : i32, 49 : i32,
// CHECK: llvm.mlir.global internal constant @mpcrt_contract_0(
// CHECK: llvm.mlir.constant([112 : i32, 0 : i32, 0 : i32, 1 : i32, 1 : i32, 1 : i32, 33 : i32,
// CHECK-LABEL: llvm.func @train_step
// CHECK-DAG: %[[SIZE_72:.*]] = llvm.mlir.constant(72 : i32) : i32
// CHECK: llvm.store %[[SIZE_72]], %{{.*}} : i32, !llvm.ptr
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[48]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[64]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// What runs on the result: the number of its arguments and which one is the result at 16 and 20, the grain at 24.
// CHECK: %[[RESULT:.*]] = llvm.getelementptr %[[KERNEL:.*]][20]
// CHECK-NEXT: llvm.store %{{.*}}, %[[RESULT]] : i32
// CHECK: llvm.getelementptr %[[KERNEL]][24]
// CHECK: llvm.store %[[SIZE_72]], %{{.*}} : i32, !llvm.ptr
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[56]
// CHECK-NEXT: llvm.store %[[KERNEL]], %[[FIELD]]
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[64]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
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
