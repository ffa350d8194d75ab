// RUN: mpc-opt %s --mpc-differentiate --canonicalize | FileCheck %s
// Training takes the batch's mean and stores the new moving one; inference takes the moving mean
// and knows nothing of the batch's.

mpc.variable @"n/mean" : tensor<4xf32> role non_trainable
mpc.variable @"n/beta" : tensor<4xf32> role trainable

// CHECK-LABEL: func.func @predict
// CHECK-NOT: mpc.reduce mean
// CHECK: mpc.subtract %{{.*}}, %arg1
// CHECK: return

// CHECK-LABEL: func.func @gradients
// CHECK-SAME: tensor<4xf32> {mpc.output = "after:n/mean"}
// CHECK: %[[M:.*]] = mpc.reduce mean %arg0
// CHECK: mpc.subtract %arg0, %[[M]]
// CHECK-NOT: mpc.in_training
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %m: tensor<4xf32> {mpc.variable = @"n/mean"}, %b: tensor<4xf32> {mpc.variable = @"n/beta"})
    -> (tensor<?x4xf32> {mpc.output = "out0"}, tensor<4xf32> {mpc.updates = @"n/mean"}) {
  %mean = mpc.reduce mean %x {axes = array<i64: 0>} : tensor<?x4xf32> -> tensor<4xf32>
  %used = mpc.in_training %mean else %m : tensor<4xf32>
  %c = mpc.subtract %x, %used : tensor<?x4xf32>, tensor<4xf32>
  %y = mpc.add %c, %b : tensor<?x4xf32>, tensor<4xf32>
  %n = mpc.add %m, %mean : tensor<4xf32>, tensor<4xf32>
  return %y, %n : tensor<?x4xf32>, tensor<4xf32>
}

func.func @loss(%p: tensor<?x4xf32> {mpc.input = "out0"}, %t: tensor<?x4xf32> {mpc.target = "y0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %d = mpc.multiply %p, %t : tensor<?x4xf32>, tensor<?x4xf32>
  %l = mpc.reduce mean %d {axes = array<i64: 0, 1>} : tensor<?x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
