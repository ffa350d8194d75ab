// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// A loop that threads share by rows is a function of the call and the rows; the entry gives it to a
// service, with what it multiplies: descriptors, right operands, biases.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 72 : i64
module {
mpc.variable @w : tensor<4x4xf32> role trainable
func.func private @cell(%z: memref<?xf32>, %h: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
// The right operand is variable 0.
// CHECK: llvm.mlir.global internal constant @mpcrt_contract_0
// CHECK-LABEL: llvm.func @predict(
// CHECK: %[[BODY:.*]] = llvm.mlir.addressof @predict_rows_0
// CHECK: llvm.call %{{.*}}(%{{.*}}, %arg0, %[[BODY]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i32, i64) -> i32
// CHECK-NOT: llvm.call
// CHECK-LABEL: llvm.func internal @predict_rows_0(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) -> i32
// The product 0, its operands as wholes, the rows.
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %arg1, %arg2) : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
// Four iterations of the kernel are a row.
// CHECK: %[[FIRST:.*]] = llvm.mul %arg1, %{{.*}} : i64
// CHECK: %[[LAST:.*]] = llvm.mul %arg2, %{{.*}} : i64
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %[[FIRST]], %[[LAST]], %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
func.func @predict(%h: memref<?x4xf32> {mpcrt.output = "out0"}, %w: memref<4x4xf32> {mpc.variable = @w},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 16 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c9 = arith.constant 9 : index
  %z = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x4xf32>
  %zs = memref.collapse_shape %z [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %hs = memref.collapse_shape %h [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %count = arith.muli %n, %c4 : index
  mpcrt.parallel_rows count(%n) {
    scf.for %t = %c0 to %c9 step %c1 {
      mpcrt.contract ins(%h, %w : memref<?x4xf32>, memref<4x4xf32>) outs(%z : memref<?x4xf32>) {layer = "rnn"}
      mpcrt.launch @cell count(%count) grain(1) args(%zs, %hs : memref<?xf32>, memref<?xf32>)
    }
  }
  return
}
}
