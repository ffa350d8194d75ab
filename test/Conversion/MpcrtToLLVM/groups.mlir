// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s
// Weights of gptq and awq go to the runtime as they are stored; what divides them comes last.

// CHECK: module attributes {mpcrt.abi_version = 8 : i32
// The flags: transposed and packed.
// CHECK: llvm.mlir.global internal constant @mpcrt_contract_0()
// CHECK: llvm.mlir.constant(10 : i32)
module {
mpc.variable @w : tensor<3x8xui8> role non_trainable
mpc.variable @s : tensor<6x2xf32> role non_trainable
mpc.variable @z : tensor<6x2xui8> role non_trainable
mpc.variable @g : tensor<8xf32> role non_trainable

// CHECK-LABEL: llvm.func @predict
// CHECK: %[[NONE:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: llvm.getelementptr %{{.*}}[56]
// CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64) -> i32
// CHECK: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64) -> i32
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<3x8xi8> {mpc.variable = @w}, %s: memref<6x2xf32> {mpc.variable = @s},
                   %z: memref<6x2xi8> {mpc.variable = @z}, %g: memref<8xf32> {mpc.variable = @g},
                   %d: memref<8xf32> {mpc.input = "d"}, %out: memref<?x6xf32> {mpcrt.output = "out0"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<3x8xi8>) blocks(%s, %z, %g : memref<6x2xf32>, memref<6x2xi8>, memref<8xf32>)
      outs(%out : memref<?x6xf32>) {transpose_rhs, layer = "plain"}
  mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<3x8xi8>) blocks(%s, %z, %g : memref<6x2xf32>, memref<6x2xi8>, memref<8xf32>) divided(%d : memref<8xf32>)
      outs(%out : memref<?x6xf32>) {transpose_rhs, layer = "divided"}
  return
}
}
