// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scan stays a loop: steps are slices, the last values are carried in one buffer each, and no step
// allocates.
// RUN: mpc-opt %s -convert-mpc-to-linalg -canonicalize -cse | FileCheck %s
// RUN: mpc-opt %s -convert-mpc-to-linalg -canonicalize -cse -mpc-fuse-linalg --mpc-buffers | FileCheck %s --check-prefix=BUFFERS

// CHECK-LABEL: func.func @predict
// CHECK: %[[STACK:.*]] = tensor.empty(%{{.*}}) : tensor<?x4x8xf32>
// CHECK: %[[L:.*]]:2 = scf.for %[[T:.*]] = %c0 to %c4 step %c1 iter_args(%[[SUM:.*]] = %arg1, %[[ALL:.*]] = %[[STACK]])
// CHECK: %[[STEP:.*]] = arith.subi %c3, %[[T]]
// CHECK: %[[X:.*]] = tensor.extract_slice %arg0[0, %[[STEP]], 0] [%{{.*}}, 1, 8] [1, 1, 1] : tensor<?x4x8xf32> to tensor<?x8xf32>
// The old value is stored before the new one is written over it.
// CHECK: %[[OLD:.*]] = tensor.insert_slice %[[SUM]] into %[[ALL]][0, %[[STEP]], 0]
// CHECK: %[[NEXT:.*]] = linalg.generic {{.*}} ins(%[[SUM]], %[[X]]
// CHECK: %[[KEPT:.*]] = linalg.copy ins(%[[NEXT]] : tensor<?x8xf32>) outs(%[[SUM]] : tensor<?x8xf32>)
// CHECK: scf.yield %[[KEPT]], %[[OLD]]

// Stacks are written where the caller wants them, states where they were read.
// BUFFERS-LABEL: func.func @predict
// BUFFERS-SAME: %[[OUT:[^ ]*]]: memref<?x4x8xf32> {mpcrt.output = "out1"}
// BUFFERS: %[[CARRY:.*]] = mpcrt.view
// BUFFERS-NOT: mpcrt.view
// BUFFERS: scf.for
// BUFFERS: %[[SLICE:.*]] = memref.subview %[[OUT]]
// BUFFERS: memref.copy %[[CARRY]], %[[SLICE]]
// BUFFERS-NOT: memref.copy
// BUFFERS: linalg.generic {{.*}} ins(%[[CARRY]], %{{.*}}) outs(%[[CARRY]] : memref<?x8xf32>)
func.func @predict(%x: tensor<?x4x8xf32> {mpc.input = "x"}, %h: tensor<?x8xf32> {mpc.input = "h"})
    -> (tensor<?x8xf32> {mpc.output = "out0"}, tensor<?x4x8xf32> {mpc.output = "out1"}) attributes {mpc.entry = #mpc.entry_role<predict>} {
  %last, %all = mpc.scan inits(%h) scanned(%x) {steps = 4 : i64, reverse}
      : (tensor<?x8xf32>, tensor<?x4x8xf32>) -> (tensor<?x8xf32>, tensor<?x4x8xf32>) {
  ^bb0(%sum: tensor<?x8xf32>, %slice: tensor<?x8xf32>):
    %next = mpc.add %sum, %slice : tensor<?x8xf32>, tensor<?x8xf32>
    mpc.yield %next, %sum : tensor<?x8xf32>, tensor<?x8xf32>
  }
  return %last, %all : tensor<?x8xf32>, tensor<?x4x8xf32>
}
