// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// A loop that threads share by rows finds what the entry prepared behind its own copy of the call, which
// says how long it is: 72 bytes.
module {
mpc.variable @w : tensor<4x4xi8> role non_trainable
func.func private @widen(%w: memref<4x4xi8>, %wide: memref<4x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func private @cell(%wide: memref<4x4xf32>, %h: memref<?x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
// CHECK-LABEL: llvm.func @predict(
// CHECK: llvm.load %[[SLOT:.*]] : !llvm.ptr -> !llvm.ptr
// CHECK: "llvm.intr.memcpy"(%[[COPY:[^,]*]], %arg0, %{{.*}}) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
// CHECK: %[[BEHIND:.*]] = llvm.getelementptr %[[COPY]][72]
// CHECK: llvm.store %{{.*}}, %[[BEHIND]] : !llvm.ptr, !llvm.ptr
// CHECK: llvm.call %{{.*}}(%{{.*}}, %[[COPY]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i32, i64) -> i32
// CHECK-LABEL: llvm.func internal @predict_rows_0(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64) -> i32
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %arg0[72]
// CHECK: llvm.load %[[PLACE]] : !llvm.ptr -> !llvm.ptr
func.func @predict(%h: memref<?x4xf32> {mpcrt.output = "out0"}, %w: memref<4x4xi8> {mpc.variable = @w}, %n: index {mpcrt.batch}, %memory: memref<?xi8> {mpcrt.prepared},
                   %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c9 = arith.constant 9 : index
  %wide = mpcrt.view %memory[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  mpcrt.prepare %memory bytes(256) {
    mpcrt.launch @widen count(%c4) grain(1) args(%w, %wide : memref<4x4xi8>, memref<4x4xf32>)
  } : memref<?xi8>
  mpcrt.parallel_rows count(%n) {
    scf.for %t = %c0 to %c9 step %c1 {
      mpcrt.launch @cell count(%n) grain(1) args(%wide, %h : memref<4x4xf32>, memref<?x4xf32>)
    }
  }
  return
}
}
