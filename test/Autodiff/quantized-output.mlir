// RUN: mpc-opt %s --mpc-differentiate | FileCheck %s
// The model's output is itself a form that only the derivative looks at.

mpc.variable @"d/kernel" : tensor<4x3xf32> role trainable

// CHECK-LABEL: func.func @gradients
// CHECK: %[[R:.*]] = mpc.round
// CHECK-NOT: mpc.straight_through
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %[[R]]
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %k: tensor<4x3xf32> {mpc.variable = @"d/kernel"}) -> (tensor<?x3xf32> {mpc.output = "out0"}) {
  %y = mpc.contract %x, %k contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  %r = mpc.round %y : tensor<?x3xf32>
  %s = mpc.straight_through %r, %y : tensor<?x3xf32>
  return %s : tensor<?x3xf32>
}

func.func @loss(%p: tensor<?x3xf32> {mpc.input = "out0"}, %t: tensor<?x3xf32> {mpc.target = "y0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %d = mpc.multiply %p, %t : tensor<?x3xf32>, tensor<?x3xf32>
  %l = mpc.reduce mean %d {axes = array<i64: 0, 1>} : tensor<?x3xf32> -> tensor<f32>
  return %l : tensor<f32>
}
