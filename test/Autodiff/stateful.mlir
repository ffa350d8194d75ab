// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-differentiate | FileCheck %s
// An update that is stateful is made in inference, too; another one in training only.
mpc.variable @state : tensor<2x3xf32> role non_trainable
mpc.variable @mean : tensor<3xf32> role non_trainable

// CHECK-LABEL: func.func @predict
// CHECK-SAME: -> (tensor<2x3xf32> {mpc.output = "out0"}, tensor<2x3xf32> {mpc.updates = @state})
func.func @forward(%x: tensor<2x3xf32> {mpc.input = "x"}, %s: tensor<2x3xf32> {mpc.variable = @state}, %m: tensor<3xf32> {mpc.variable = @mean})
    -> (tensor<2x3xf32> {mpc.output = "out0"}, tensor<2x3xf32> {mpc.updates = @state, mpc.stateful}, tensor<3xf32> {mpc.updates = @mean}) {
  %y = mpc.add %x, %s : tensor<2x3xf32>, tensor<2x3xf32>
  %n = mpc.negate %m : tensor<3xf32>
  return %y, %y, %n : tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>
}
