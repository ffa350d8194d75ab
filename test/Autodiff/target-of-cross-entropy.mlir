// RUN: mpc-opt %s --mpc-differentiate --canonicalize | FileCheck %s
// A target that depends on weights has a gradient, too: the negative logarithms of the probabilities.

// CHECK-LABEL: func.func @gradients
// CHECK: %[[L:.*]] = mpc.log_softmax %{{.*}} {axis = 1 : i64}
// CHECK: %[[P:.*]] = mpc.multiply %{{.*}}, %[[L]]
// CHECK: %[[N:.*]] = mpc.negate %[[P]]
// CHECK: %[[W:.*]] = mpc.multiply %[[N]], %arg0
// CHECK: %[[S:.*]] = mpc.reduce sum %[[W]]
mpc.variable @w : tensor<8xf32> role trainable
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8xf32> {mpc.variable = @w}) -> (tensor<f32> {mpc.output = "out0"}) {
  %t = mpc.multiply %x, %w : tensor<?x8xf32>, tensor<8xf32>
  %e = mpc.softmax_cross_entropy %x, %t : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?xf32>
  %m = mpc.reduce mean %e {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  return %m : tensor<f32>
}
func.func @loss(%p: tensor<f32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  return %p : tensor<f32>
}
