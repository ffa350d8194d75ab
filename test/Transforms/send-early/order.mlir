// RUN: mpc-opt %s --mpc-send-early | FileCheck %s
// RUN: mpc-opt %s --mpc-send-early -o %t.once
// RUN: mpc-opt %t.once --mpc-send-early -o %t.twice
// RUN: diff %t.once %t.twice

mpc.variable @v : tensor<4x3xf32> role trainable
mpc.variable @w : tensor<3x3xf32> role trainable
mpc.variable @b : tensor<3xf32> role trainable
mpc.variable @t : tensor<f32> role metric

// The gradient of the second layer is sent before the cotangent of the first one is computed, and the first
// layer's is under way while the second layer is updated.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32> {{.*}}, %[[H:.*]]: tensor<?x3xf32>, %[[DY:.*]]: tensor<?x3xf32>, %[[V:.*]]: tensor<4x3xf32> {mpc.variable = @v}, %[[W:.*]]: tensor<3x3xf32> {mpc.variable = @w}, %[[B:.*]]: tensor<3xf32>
func.func @train_step(%x: tensor<?x4xf32> {mpc.input = "x"}, %h: tensor<?x3xf32>, %dy: tensor<?x3xf32>, %v: tensor<4x3xf32> {mpc.variable = @v},
                      %w: tensor<3x3xf32> {mpc.variable = @w}, %b: tensor<3xf32> {mpc.variable = @b}, %rate: tensor<f32>)
    -> (tensor<4x3xf32> {mpc.updates = @v}, tensor<3x3xf32> {mpc.updates = @w}, tensor<3xf32> {mpc.updates = @b})
    attributes {mpc.entry = #mpc.entry_role<train_step>} {
  // CHECK: %[[DH:.*]] = mpc.multiply
  %dz = mpc.multiply %dy, %dy : tensor<?x3xf32>, tensor<?x3xf32>
  // CHECK-NEXT: mpc.contract %[[H]], %[[DH]]
  // CHECK-NEXT: %[[SUM1:.*]] = mpc.all_reduce sum
  // CHECK-NEXT: mpc.reduce sum %[[DH]]
  // CHECK-NEXT: %[[SUM2:.*]] = mpc.all_reduce sum
  // CHECK-NEXT: %[[DX:.*]] = mpc.contract %[[DH]], %[[W]]
  %dx = mpc.contract %dz, %w contracting [1] x [1] : (tensor<?x3xf32>, tensor<3x3xf32>) -> tensor<?x3xf32>
  %0 = mpc.contract %h, %dz contracting [0] x [0] : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<3x3xf32>
  %1 = mpc.all_reduce sum %0 : tensor<3x3xf32>
  %2 = mpc.reduce sum %dz {axes = array<i64: 0>} : tensor<?x3xf32> -> tensor<3xf32>
  %3 = mpc.all_reduce sum %2 : tensor<3xf32>
  // An op that reads arguments alone stays in front of its reader.
  // CHECK-NEXT: %[[XX:.*]] = mpc.multiply %[[X]], %[[X]]
  // CHECK-NEXT: mpc.contract %[[XX]], %[[DX]]
  // CHECK-NEXT: %[[SUM3:.*]] = mpc.all_reduce sum
  %4 = mpc.multiply %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
  %5 = mpc.contract %4, %dx contracting [0] x [0] : (tensor<?x4xf32>, tensor<?x3xf32>) -> tensor<4x3xf32>
  %6 = mpc.all_reduce sum %5 : tensor<4x3xf32>
  // CHECK-NEXT: mpc.optimizer_step %[[W]], %[[SUM1]]
  // CHECK: mpc.optimizer_step %[[B]], %[[SUM2]]
  // CHECK: mpc.optimizer_step %[[V]], %[[SUM3]]
  %v1 = mpc.optimizer_step %v, %6 rate(%rate) iteration(%rate) rule(#mpc.sgd<momentum = 0.0, nesterov = false>)
      : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> tensor<4x3xf32>
  %w1 = mpc.optimizer_step %w, %1 rate(%rate) iteration(%rate) rule(#mpc.sgd<momentum = 0.0, nesterov = false>)
      : (tensor<3x3xf32>, tensor<3x3xf32>, tensor<f32>, tensor<f32>) -> tensor<3x3xf32>
  %b1 = mpc.optimizer_step %b, %3 rate(%rate) iteration(%rate) rule(#mpc.sgd<momentum = 0.0, nesterov = false>)
      : (tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>
  return %v1, %w1, %b1 : tensor<4x3xf32>, tensor<3x3xf32>, tensor<3xf32>
}

// The count that the loss is divided by is needed on the way to the gradient; the metric's is not, and stands behind.
// CHECK-LABEL: func.func @evaluate
func.func @evaluate(%x: tensor<?x3xf32> {mpc.input = "x"}, %total: tensor<f32> {mpc.variable = @t}, %count: tensor<f32>)
    -> (tensor<f32> {mpc.updates = @t}, tensor<f32> {mpc.output = "loss"}) attributes {mpc.entry = #mpc.entry_role<evaluate>} {
  // CHECK-NEXT: mpc.reduce sum
  // CHECK-NEXT: %[[FIRST:.*]] = mpc.all_reduce sum
  %0 = mpc.reduce sum %x {axes = array<i64: 0, 1>} : tensor<?x3xf32> -> tensor<f32>
  %1 = mpc.all_reduce sum %0 : tensor<f32>
  %2 = mpc.add %total, %1 : tensor<f32>, tensor<f32>
  // CHECK-NEXT: %[[SCALED:.*]] = mpc.divide %[[FIRST]]
  // CHECK-NEXT: %[[SECOND:.*]] = mpc.all_reduce sum %[[SCALED]]
  %3 = mpc.divide %1, %count : tensor<f32>, tensor<f32>
  %4 = mpc.all_reduce sum %3 : tensor<f32>
  // CHECK-NEXT: mpc.add
  // CHECK-NEXT: return %{{.*}}, %[[SECOND]]
  return %2, %4 : tensor<f32>, tensor<f32>
}

// Without a reduction nothing moves.
// CHECK-LABEL: func.func @predict
func.func @predict(%x: tensor<?x3xf32> {mpc.input = "x"}, %w: tensor<3x3xf32> {mpc.variable = @w}) -> (tensor<?x3xf32> {mpc.output = "out0"})
    attributes {mpc.entry = #mpc.entry_role<predict>} {
  // CHECK-NEXT: mpc.contract
  // CHECK-NEXT: return
  %0 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x3xf32>, tensor<3x3xf32>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
