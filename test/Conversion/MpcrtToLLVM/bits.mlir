// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Bits of relu that are made are at byte 80, those that are read at 72, with an activation of their own (3).
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 32 : i64
module {
mpc.variable @w : tensor<8x4xf32> role trainable
// CHECK-LABEL: llvm.func @train_step
// CHECK-DAG: %[[SIZE_80:.*]] = llvm.mlir.constant(80 : i32) : i32
// CHECK-DAG: %[[SIZE_88:.*]] = llvm.mlir.constant(88 : i32) : i32
// CHECK: llvm.store %[[SIZE_88]], %{{.*}} : i32, !llvm.ptr
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[80]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK: llvm.store %[[SIZE_80]], %{{.*}} : i32, !llvm.ptr
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[72]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK-NOT: llvm.call
func.func @train_step(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.variable = @w}, %out: memref<?x4xf32> {mpcrt.output = "out0"},
                      %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %m = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x16xi8>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%out : memref<?x4xf32>) mask(%m : memref<?x16xi8>) activation(relu) {layer = "dense"}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) where(%m : memref<?x16xi8>) outs(%out : memref<?x4xf32>) {layer = "dense"}
  return
}
}
