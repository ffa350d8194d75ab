// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// What an entry computes of its weights is a function of the call and of the memory; the entry gives it
// to a service before anything else, and returns when that fails.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 80 : i64
module {
mpc.variable @w : tensor<4x4xi8> role non_trainable
func.func private @widen(%w: memref<4x4xi8>, %wide: memref<4x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
func.func private @use(%wide: memref<4x4xf32>, %y: memref<?x4xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
// CHECK-LABEL: llvm.func @predict(
// CHECK: %[[BODY:.*]] = llvm.mlir.addressof @predict_prepare
// CHECK: llvm.call %{{.*}}(%{{.*}}, %arg0, %[[BODY]], %{{.*}}, %[[SLOT:.*]]) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
// CHECK: llvm.load %[[SLOT]] : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.cond_br
// CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
// CHECK-NOT: llvm.call
// CHECK-LABEL: llvm.func internal @predict_prepare(%arg0: !llvm.ptr, %arg1: !llvm.ptr) -> i32
// CHECK: llvm.getelementptr %arg1[
// CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
// CHECK-NOT: llvm.call
// CHECK: llvm.return
func.func @predict(%w: memref<4x4xi8> {mpc.variable = @w}, %y: memref<?x4xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %memory: memref<?xi8> {mpcrt.prepared},
                   %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c4 = arith.constant 4 : index
  %wide = mpcrt.view %memory[%n] fixed(256) per_sample(0) : memref<?xi8> -> memref<4x4xf32>
  mpcrt.prepare %memory bytes(512) {
    mpcrt.launch @widen count(%c4) grain(1) args(%w, %wide : memref<4x4xi8>, memref<4x4xf32>)
  } : memref<?xi8>
  mpcrt.launch @use count(%n) grain(1) args(%wide, %y : memref<4x4xf32>, memref<?x4xf32>)
  return
}
}
