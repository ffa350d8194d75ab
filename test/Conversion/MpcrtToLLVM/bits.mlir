// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Contractions that make or read bits of relu are a service of version 10 of the ABI, with the bits that
// are read in front of the result and those that are made behind it; what there is not is null.
// CHECK: module attributes {mpcrt.abi_version = 10 : i32
module {
mpc.variable @w : tensor<8x4xf32> role trainable
// CHECK-LABEL: llvm.func @train_step
// CHECK: %[[NOTHING:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[NOTHING]], %{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
func.func @train_step(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.variable = @w}, %out: memref<?x4xf32> {mpcrt.output = "out0"},
                      %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 64 : i64} {
  %m = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<?x16xi8>
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%out : memref<?x4xf32>) mask(%m : memref<?x16xi8>) activation(relu) {layer = "dense"}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) where(%m : memref<?x16xi8>) outs(%out : memref<?x4xf32>) {layer = "dense"}
  return
}
}
