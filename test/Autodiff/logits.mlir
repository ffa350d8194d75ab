// RUN: mpc-opt %s --mpc-differentiate --cse | FileCheck %s
// The loss of a softmax's output takes the logits before it is differentiated: through the clip, a
// sample whose probability is below 1e-7 would give no gradient. The probabilities stay an output.

mpc.variable @w : tensor<4x3xf32> role trainable
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4x3xf32> {mpc.variable = @w}) -> (tensor<?x3xf32> {mpc.output = "out0"}) {
  %z = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  %p = mpc.softmax %z {axis = 1 : i64} : tensor<?x3xf32>
  return %p : tensor<?x3xf32>
}
func.func @loss(%p: tensor<?x3xf32> {mpc.input = "out0"}, %y: tensor<?xi32> {mpc.target = "y0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %lo = mpc.constant dense<1.0e-7> : tensor<f32>
  %hi = mpc.constant dense<0.9999999> : tensor<f32>
  %c = mpc.minimum %p, %hi : tensor<?x3xf32>, tensor<f32>
  %d = mpc.maximum %c, %lo : tensor<?x3xf32>, tensor<f32>
  %l = mpc.log %d : tensor<?x3xf32>
  %t = mpc.one_hot %y : tensor<?xi32> -> tensor<?x3xf32>
  %e = mpc.softmax_cross_entropy %l, %t : tensor<?x3xf32>, tensor<?x3xf32> -> tensor<?xf32>
  %m = mpc.reduce mean %e {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  return %m : tensor<f32>
}

// CHECK-LABEL: func.func @gradients
// CHECK: %[[Z:.*]] = mpc.contract
// CHECK: %[[P:.*]] = mpc.softmax %[[Z]]
// CHECK: mpc.softmax_cross_entropy %[[Z]]
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %[[P]] :
