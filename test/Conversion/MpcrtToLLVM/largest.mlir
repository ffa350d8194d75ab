// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// A contraction that reports its largest element is a service of version 3 of the ABI, with one more
// pointer in front of the batch.
// CHECK: module attributes {mpcrt.abi_version = 3 : i32
module {
mpc.variable @w : tensor<8x4xf32> role trainable
// CHECK-LABEL: llvm.func @train_step
// CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
func.func @train_step(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.variable = @w}, %out: memref<?x4xf32> {mpcrt.output = "out0"},
                      %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 64 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %l = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<i32>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%out : memref<?x4xf32>) largest(%l : memref<i32>) {layer = "dense"}
  return
}
}
