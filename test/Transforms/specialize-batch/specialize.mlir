// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-specialize-batch=batch=6 | FileCheck %s
// RUN: mpc-opt %s --mpc-specialize-batch=batch=6 -o %t.once
// RUN: mpc-opt %t.once --mpc-specialize-batch=batch=6 | diff %t.once -
// RUN: mpc-opt %t.once --mpc-specialize-batch=batch=6 --mpc-to-tensors | FileCheck %s --check-prefix=TENSORS
// RUN: %exits 1 mpc-opt %s --mpc-specialize-batch | FileCheck %s --check-prefix=NONE
// RUN: %exits 1 mpc-opt %t.once --mpc-specialize-batch=batch=4 | FileCheck %s --check-prefix=OTHER
// NONE: error: batch=0: expected a positive number
// OTHER: error: input 'x' has a batch of 6 in the model (some layer keeps states); expected --batch=6 or none
// TENSORS-NOT: tensor.dim
// TENSORS-NOT: tensor<?

// CHECK: func.func @forward(%arg0: tensor<6x4xf32> {mpc.input = "x"}, %arg1: tensor<4x3xf32> {mpc.variable = @"d/kernel"}) -> (tensor<6x3xf32> {mpc.output = "out0"})
// CHECK: mpc.layer "d" {{.*}} : (tensor<6x4xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
// CHECK: ^bb0(%{{.*}}: tensor<6x4xf32>, %{{.*}}: tensor<4x3xf32>):
// CHECK: mpc.contract {{.*}} -> tensor<6x3xf32>
// CHECK: return {{.*}} : tensor<6x3xf32>
mpc.variable @"d/kernel" : tensor<4x3xf32> role trainable layer("d")
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4x3xf32> {mpc.variable = @"d/kernel"})
    -> (tensor<?x3xf32> {mpc.output = "out0"}) {
  %y = mpc.layer "d" kind "Dense" inputs(%x) variables(%w) : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32> {
  ^bb0(%a: tensor<?x4xf32>, %k: tensor<4x3xf32>):
    %p = mpc.contract %a, %k contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
    %q = mpc.relu %p : tensor<?x3xf32>
    mpc.yield %q : tensor<?x3xf32>
  }
  return %y : tensor<?x3xf32>
}
