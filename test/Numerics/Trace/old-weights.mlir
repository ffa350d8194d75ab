// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-watch-step | FileCheck %s
// RUN: mpc-opt %s --mpc-watch-step --mpc-verify-kernels | FileCheck %s
// Copies of weights that one op updates have one place; one that two ops update keeps its own.

mpc.variable @"a/kernel" : tensor<32xf32> role trainable layer("a")
mpc.variable @"b/kernel" : tensor<32xf32> role trainable layer("b")
mpc.variable @"c/kernel" : tensor<16xf32> role trainable layer("c")

func.func private @one(%g: memref<32xf32>, %w: memref<32xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %0 = memref.load %g[%begin] : memref<32xf32>
  memref.store %0, %w[%begin] : memref<32xf32>
  return
}
func.func private @two(%g: memref<32xf32>, %w: memref<32xf32>, %v: memref<16xf32>, %begin: index, %end: index) attributes {mpcrt.kernel} {
  %0 = memref.load %g[%begin] : memref<32xf32>
  memref.store %0, %w[%begin] : memref<32xf32>
  memref.store %0, %v[%begin] : memref<16xf32>
  return
}

// CHECK-LABEL: func.func @watched_step
// 128 bytes of the step, 192 for the weights that one op changes, 128 for those that two do.
// CHECK-SAME: mpcrt.arena_fixed = 448 : i64
// CHECK: %[[A0:.*]] = mpcrt.view %{{.*}} fixed(320) per_sample(0) : memref<?xi8> -> memref<32xf32>
// CHECK-NEXT: memref.copy %[[A:.*]], %[[A0]]
// CHECK-NEXT: mpcrt.launch @one
// CHECK: mpcrt.trace optimizer {{.*}} "update:kernel" of "a"(%[[A]] before %[[A0]])
// CHECK: %[[B0:.*]] = mpcrt.view %{{.*}} fixed(128) per_sample(0) : memref<?xi8> -> memref<32xf32>
// CHECK-NEXT: memref.copy %[[B:.*]], %[[B0]]
// CHECK-NEXT: %[[C0:.*]] = mpcrt.view %{{.*}} fixed(256) per_sample(0) : memref<?xi8> -> memref<16xf32>
// CHECK-NEXT: memref.copy %[[C:.*]], %[[C0]]
// CHECK-NEXT: mpcrt.launch @two
// CHECK: mpcrt.trace optimizer {{.*}} "update:kernel" of "b"(%[[B]] before %[[B0]])
// CHECK: mpcrt.trace optimizer {{.*}} "update:kernel" of "c"(%[[C]] before %[[C0]])
// CHECK-NOT: memref.copy
// CHECK: mpcrt.launch @one
// CHECK: mpcrt.trace optimizer {{.*}} "update:kernel" of "a"(%[[A]] before %[[A0]])
func.func @train_step(%a: memref<32xf32> {mpc.variable = @"a/kernel"}, %b: memref<32xf32> {mpc.variable = @"b/kernel"},
    %c: memref<16xf32> {mpc.variable = @"c/kernel"}, %n: index {mpcrt.batch}, %arena: memref<?xi8> {mpcrt.arena})
    attributes {mpc.entry = #mpc.entry_role<train_step>, mpcrt.arena_fixed = 128 : i64, mpcrt.arena_per_sample = 0 : i64} {
  %g = mpcrt.view %arena[%n] fixed(0) per_sample(0) : memref<?xi8> -> memref<32xf32>
  %c32 = arith.constant 32 : index
  mpcrt.launch @one count(%c32) grain(1000) args(%g, %a : memref<32xf32>, memref<32xf32>)
  mpcrt.launch @two count(%c32) grain(1000) args(%g, %b, %c : memref<32xf32>, memref<32xf32>, memref<16xf32>)
  mpcrt.launch @one count(%c32) grain(1000) args(%g, %a : memref<32xf32>, memref<32xf32>)
  return
}
