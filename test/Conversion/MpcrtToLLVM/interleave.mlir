// RUN: mpc-opt %s --convert-mpcrt-to-llvm --split-input-file | FileCheck %s

// A kernel on a contraction's result is a struct, whose address is a field of the contraction's call (byte 56): the kernel,
// its arguments, how many and which one is the result, and the grain.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 32 : i64
module {
mpc.variable @w : tensor<8x4xf32> role trainable
func.func private @update(%dw: memref<32xf32>, %w: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
// Flags: the left operand is transposed, the result consumed.
// CHECK: llvm.mlir.global internal constant @mpcrt_contract_0
// CHECK: llvm.mlir.constant([112 : i32, 0 : i32, 0 : i32, 0 : i32, 0 : i32, 0 : i32, 17 : i32,
// CHECK-LABEL: llvm.func @train_step
// CHECK-DAG: %[[SIZE_64:.*]] = llvm.mlir.constant(64 : i32) : i32
// CHECK: llvm.store %[[SIZE_64]], %{{.*}} : i32, !llvm.ptr
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[56]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// CHECK-NOT: llvm.call
func.func @train_step(%x: memref<?x8xf32> {mpc.input = "x"}, %dy: memref<?x4xf32> {mpc.input = "dy"}, %w: memref<8x4xf32> {mpc.variable = @w},
                      %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 128 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %dw = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<8x4xf32>
  %flat = memref.collapse_shape %dw [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %weights = memref.collapse_shape %w [[0, 1]] : memref<8x4xf32> into memref<32xf32>
  %count = arith.constant 32 : index
  mpcrt.interleave result(0) consumed {
    mpcrt.contract ins(%x, %dy : memref<?x8xf32>, memref<?x4xf32>) outs(%dw : memref<8x4xf32>) {layer = "dense", transpose_lhs}
    mpcrt.launch @update count(%count) grain(1000) args(%flat, %weights : memref<32xf32>, memref<32xf32>)
  }
  return
}
}

// -----

// A result without memory is null, for the product (byte 40) and for the kernel.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 32 : i64
module {
func.func private @sum(%y: memref<?xf32>, %z: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
// CHECK-LABEL: llvm.func @predict
// CHECK: llvm.load
// CHECK: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: llvm.store %[[NULL]], %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK: %[[OUT:.*]] = llvm.getelementptr %{{.*}}[40]
// CHECK-NEXT: llvm.store %[[NULL]], %[[OUT]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %z: memref<?xf32> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) {unstored} : memref<?xi8> -> memref<?x4xf32>
  %flat = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  mpcrt.interleave result(0) consumed {
    mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%y : memref<?x4xf32>) {layer = "dense"}
    mpcrt.launch @sum count(%count) grain(1000) args(%flat, %z : memref<?xf32>, memref<?xf32>)
  }
  return
}
}

// -----

// A kernel that replaces the result does so through one argument. The result is not consumed.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
// CHECK-SAME: mpcrt.services_size = 32 : i64
module {
func.func private @activate(%y: memref<?xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
// CHECK: llvm.mlir.global internal constant @mpcrt_contract_0
// CHECK: llvm.mlir.constant([112 : i32, 0 : i32, 0 : i32, 0 : i32, 0 : i32, 0 : i32, 0 : i32,
// CHECK-LABEL: llvm.func @predict
// CHECK-DAG: %[[SIZE_64:.*]] = llvm.mlir.constant(64 : i32) : i32
// CHECK: llvm.store %[[SIZE_64]], %{{.*}} : i32, !llvm.ptr
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[56]
// CHECK-NEXT: llvm.store %{{.*}}, %[[FIELD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
func.func @predict(%x: memref<?x8xf32> {mpc.input = "x"}, %w: memref<8x4xf32> {mpc.input = "w"}, %y: memref<?x4xf32> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %flat = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  mpcrt.interleave result(0) replaced {
    mpcrt.contract ins(%x, %w : memref<?x8xf32>, memref<8x4xf32>) outs(%y : memref<?x4xf32>) {layer = "dense"}
    mpcrt.launch @activate count(%count) grain(1000) args(%flat : memref<?xf32>)
  }
  return
}
}

// -----

// What a kernel that makes numbers of 8 bits of sums computes is a word of the contraction's call (byte 144): arguments 1, 2 and
// 3, an offset of 128, and bounds of 0 and 255.
// CHECK: module attributes {mpcrt.abi_version = 1 : i32
module {
func.func private @requantize(%o: memref<?x4xi32>, %b: memref<4xi32>, %s: memref<4xf32>, %q: memref<?x4xi8>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  return
}
// CHECK-LABEL: llvm.func @predict
// CHECK: %[[WORD:.*]] = llvm.mlir.constant(71776121208898049 : i64) : i64
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %{{.*}}[144]
// CHECK-NEXT: llvm.store %[[WORD]], %[[FIELD]]
func.func @predict(%x: memref<?x8xi8> {mpc.input = "x"}, %w: memref<8x4xi8> {mpc.input = "w"}, %b: memref<4xi32> {mpc.input = "b"}, %s: memref<4xf32> {mpc.input = "s"}, %q: memref<?x4xi8> {mpcrt.output = "out0"},
                   %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena}) attributes {mpc.entry = #mpc.entry_role<predict>, mpcrt.arena_fixed = 0 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %y = mpcrt.view %arena[%n] fixed(0) per_sample(0) {unstored} : memref<?xi8> -> memref<?x4xi32>
  %c4 = arith.constant 4 : index
  %count = arith.muli %n, %c4 : index
  mpcrt.interleave result(0) consumed {
    mpcrt.contract ins(%x, %w : memref<?x8xi8>, memref<8x4xi8>) outs(%y : memref<?x4xi32>) {layer = "dense"}
    mpcrt.launch @requantize count(%count) grain(1000) args(%y, %b, %s, %q : memref<?x4xi32>, memref<4xi32>, memref<4xf32>, memref<?x4xi8>)
  } {mpcrt.requantization = array<i64: 1, 2, 3, 0, 255, 128>}
  return
}
}
