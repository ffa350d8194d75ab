// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// A contraction is a call of one service, whatever it has: a descriptor, and a struct of the call that ends behind the
// last field that is set. The largest element is at byte 48; what is before it and not there is null.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 32 : i64
module {
mpc.variable @w : tensor<8x4xf32> role trainable
// CHECK-LABEL: llvm.func @train_step
// CHECK-DAG: %[[SIZE_56:.*]] = llvm.mlir.constant(56 : i32) : i32
// CHECK-DAG: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: llvm.store %[[SIZE_56]], %{{.*}} : i32, !llvm.ptr
// CHECK: %[[BIAS:.*]] = llvm.getelementptr %{{.*}}[32]
// CHECK-NEXT: llvm.store %[[NULL]], %[[BIAS]]
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[48]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK-NOT: llvm.call
func.func @train_step(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.variable = @w}, %out: memref<?x4xf32> {mpcrt.output = "out0"},
                      %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 64 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %l = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<i32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%out : memref<?x4xf32>) largest(%l : memref<i32>) {layer = "dense"}
  return
}
}
