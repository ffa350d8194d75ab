// RUN: mpc-opt %s --mpc-differentiate --cse --split-input-file | FileCheck %s
// A loss of a softmax's or sigmoid's output takes its logit form before it is differentiated: through
// the clip, a sample whose probability is below 1e-7 would give no gradient. The probabilities stay an
// output.

mpc.variable @w : tensor<4x3xf32> role trainable
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4x3xf32> {mpc.variable = @w}) -> (tensor<?x3xf32> {mpc.output = "out0"}) {
  %z = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  %p = mpc.softmax %z {axis = 1 : i64} : tensor<?x3xf32>
  return %p : tensor<?x3xf32>
}
func.func @loss(%p: tensor<?x3xf32> {mpc.input = "out0"}, %t: tensor<?x3xf32> {mpc.target = "y0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %z, %known = mpc.logits softmax %p {axis = 1 : i64} : tensor<?x3xf32>
  %e = mpc.softmax_cross_entropy %z, %t : tensor<?x3xf32>, tensor<?x3xf32> -> tensor<?xf32>
  %l = mpc.log %p : tensor<?x3xf32>
  %o = mpc.reduce sum %l {axes = array<i64: 1>} : tensor<?x3xf32> -> tensor<?xf32>
  %v = mpc.select %known, %e, %o : tensor<i1>, tensor<?xf32>, tensor<?xf32>
  %m = mpc.reduce mean %v {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  return %m : tensor<f32>
}

// CHECK-LABEL: func.func @gradients
// CHECK: %[[Z:.*]] = mpc.contract
// CHECK: %[[P:.*]] = mpc.softmax %[[Z]]
// CHECK-NOT: mpc.logits
// CHECK-NOT: mpc.log %
// CHECK: mpc.softmax_cross_entropy %[[Z]]
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %[[P]] :

// -----

// A rounding between the two hides the logits, as it does in Keras.

mpc.variable @w : tensor<4x3xf32> role trainable
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4x3xf32> {mpc.variable = @w}) -> (tensor<?x3xf16> {mpc.output = "out0"}) {
  %z = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  %h = mpc.cast %z : tensor<?x3xf32> to tensor<?x3xf16>
  %p = mpc.sigmoid %h : tensor<?x3xf16>
  return %p : tensor<?x3xf16>
}
func.func @loss(%h: tensor<?x3xf16> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %p = mpc.cast %h : tensor<?x3xf16> to tensor<?x3xf32>
  %z, %known = mpc.logits sigmoid %p : tensor<?x3xf32>
  %e = mpc.softplus %z : tensor<?x3xf32>
  %l = mpc.log %p : tensor<?x3xf32>
  %v = mpc.select %known, %e, %l : tensor<i1>, tensor<?x3xf32>, tensor<?x3xf32>
  %m = mpc.reduce mean %v {axes = array<i64: 0, 1>} : tensor<?x3xf32> -> tensor<f32>
  return %m : tensor<f32>
}

// CHECK-LABEL: func.func @evaluate
// CHECK-NOT: mpc.softplus
// CHECK: mpc.log %

// -----

// Those of a sigmoid are no logits of a softmax.

mpc.variable @w : tensor<4x3xf32> role trainable
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4x3xf32> {mpc.variable = @w}) -> (tensor<?x3xf32> {mpc.output = "out0"}) {
  %z = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  %p = mpc.sigmoid %z : tensor<?x3xf32>
  return %p : tensor<?x3xf32>
}
func.func @loss(%p: tensor<?x3xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %z, %known = mpc.logits softmax %p {axis = 1 : i64} : tensor<?x3xf32>
  %e = mpc.softplus %z : tensor<?x3xf32>
  %l = mpc.log %p : tensor<?x3xf32>
  %v = mpc.select %known, %e, %l : tensor<i1>, tensor<?x3xf32>, tensor<?x3xf32>
  %m = mpc.reduce mean %v {axes = array<i64: 0, 1>} : tensor<?x3xf32> -> tensor<f32>
  return %m : tensor<f32>
}

// CHECK-LABEL: func.func @evaluate
// CHECK-NOT: mpc.softplus
// CHECK: mpc.log %
