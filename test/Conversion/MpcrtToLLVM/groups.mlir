// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Weights of gptq and awq go to the runtime as they are stored: scales, zeros, the groups of rows, what divides them (awq)
// and the number of groups are at the bytes 104 to 136.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 32 : i64
// The flags: transposed and packed.
// CHECK: llvm.mlir.global internal constant @mpcrt_contract_0()
// CHECK: llvm.mlir.constant([112 : i32, 0 : i32, 0 : i32, 4 : i32, 0 : i32, 0 : i32, 10 : i32,
module {
mpc.variable @w : tensor<3x8xui8> role non_trainable
mpc.variable @s : tensor<6x2xf32> role non_trainable
mpc.variable @z : tensor<6x2xui8> role non_trainable
mpc.variable @g : tensor<8xf32> role non_trainable

// CHECK-LABEL: llvm.func @predict
// CHECK-DAG: %[[SIZE_144:.*]] = llvm.mlir.constant(144 : i32) : i32
// CHECK: llvm.store %[[SIZE_144]], %{{.*}} : i32, !llvm.ptr
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[104]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[112]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[120]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[136]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK: llvm.store %[[SIZE_144]], %{{.*}} : i32, !llvm.ptr
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[128]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
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
