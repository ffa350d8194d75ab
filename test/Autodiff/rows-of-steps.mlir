// RUN: mpc-opt %s --mpc-differentiate --canonicalize --cse | FileCheck %s
// The gradient of a table that every step of a loop reads is one sum of rows behind the loop: rows are what the optimizer
// squares before it sums them.
mpc.variable @table : tensor<9x3xf32> role trainable
mpc.optimizer "adam" rule(#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = false>) {learning_rate = 0.01 : f64}

// CHECK-LABEL: func.func @train_step
// CHECK: mpc.scan
// CHECK: %[[ROWS:.*]] = mpc.scan
// CHECK-NOT: mpc.scatter_add
// CHECK: }
// CHECK: %[[G:.*]] = mpc.scatter_add %arg0, %[[ROWS]] like %{{.*}} {axis = 0 : i64} : tensor<?x4x5xi32>, tensor<?x4x5x3xf32>, tensor<9x3xf32>
// CHECK-DAG: %[[SUM:.*]] = mpc.variable_gradient %[[G]] of @table : tensor<9x3xf32>
// CHECK-DAG: %[[PARTS:.*]] = mpc.variable_gradient %[[ROWS]] of @table : tensor<?x4x5x3xf32>
// CHECK: %[[SQUARES:.*]] = mpc.multiply %[[PARTS]], %[[PARTS]]
// CHECK: %[[POWERS:.*]] = mpc.scatter_add %arg0, %[[SQUARES]]
// CHECK: mpc.optimizer_step %{{.*}}, %[[SUM]] powers(%[[POWERS]])
func.func @forward(%x: tensor<?x4x5xi32> {mpc.input = "x"}, %t: tensor<9x3xf32> {mpc.variable = @table}) -> (tensor<?x4x5x3xf32> {mpc.output = "out0"}) {
  %rows = mpc.scan scanned(%x) captures(%t) {steps = 4 : i64} : (tensor<?x4x5xi32>, tensor<9x3xf32>) -> tensor<?x4x5x3xf32> {
  ^bb0(%ids: tensor<?x5xi32>, %tc: tensor<9x3xf32>):
    %r = mpc.gather %tc, %ids {axis = 0 : i64} : tensor<9x3xf32>, tensor<?x5xi32> -> tensor<?x5x3xf32>
    %y = mpc.tanh %r : tensor<?x5x3xf32>
    mpc.yield %y : tensor<?x5x3xf32>
  }
  return %rows : tensor<?x4x5x3xf32>
}
func.func @loss(%p: tensor<?x4x5x3xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %m = mpc.reduce mean %p {axes = array<i64: 0, 1, 2, 3>} : tensor<?x4x5x3xf32> -> tensor<f32>
  return %m : tensor<f32>
}
