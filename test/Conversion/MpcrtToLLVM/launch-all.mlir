// RUN: mpc-opt %s --convert-mpcrt-to-llvm | FileCheck %s

// Launches at once are a service that takes an array of them and their number.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 24 : i64
module {
mpc.variable @a : tensor<32xf32> role trainable
mpc.variable @b : tensor<8xf32> role trainable
func.func private @double(%a: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
// CHECK-LABEL: llvm.func @train_step
// CHECK: llvm.alloca %{{.*}} x i64
// CHECK: llvm.store
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32) -> ()
// CHECK-NOT: llvm.call
func.func @train_step(%a: memref<32xf32> {mpc.variable = @a}, %b: memref<8xf32> {mpc.variable = @b}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %c32 = arith.constant 32 : index
  %c8 = arith.constant 8 : index
  %first = memref.cast %a : memref<32xf32> to memref<?xf32>
  %second = memref.cast %b : memref<8xf32> to memref<?xf32>
  mpcrt.launch_all {
    mpcrt.launch @double count(%c32) grain(1000) args(%first : memref<?xf32>)
    mpcrt.launch @double count(%c8) grain(1000) args(%second : memref<?xf32>)
  }
  return
}
}
