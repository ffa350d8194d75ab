// RUN: not mpc-opt %s --split-input-file --mpc-verify-scaling 2>&1 | FileCheck %s

func.func @gradients() -> tensor<f32> {
  // CHECK: error: mpc.gradient_seed must not be left after mpc-scale-loss
  %s = mpc.gradient_seed : tensor<f32>
  return %s : tensor<f32>
}

// -----

mpc.loss_scale initial(8.0) {growth_steps = 2 : i64}
mpc.variable @w : tensor<f32> role trainable
mpc.variable @moving : tensor<f32> role non_trainable
// CHECK: error: update of @w does not depend on the finite test
// CHECK-NOT: update of @moving
// CHECK: error: has no output "finite" that is the finite test of its gradients, although the loss scale is dynamic
func.func @train_step(%w: tensor<f32> {mpc.variable = @w}) -> (tensor<f32> {mpc.updates = @w}, tensor<f32> {mpc.updates = @moving}) attributes {mpc.entry = #mpc.entry_role<train_step>} {
  %v = mpc.add %w, %w : tensor<f32>, tensor<f32>
  return %v, %v : tensor<f32>, tensor<f32>
}

// -----

// A select of something else is no test, nor is a test of which nothing is told.
mpc.loss_scale initial(8.0) {growth_steps = 2 : i64}
mpc.variable @w : tensor<f32> role trainable
// CHECK: error: update of @w does not depend on the finite test
func.func @train_step(%p: tensor<i1> {mpc.input = "p"}, %w: tensor<f32> {mpc.variable = @w}) -> (tensor<i1> {mpc.output = "finite"}, tensor<f32> {mpc.updates = @w}) attributes {mpc.entry = #mpc.entry_role<train_step>} {
  %v = mpc.add %w, %w : tensor<f32>, tensor<f32>
  %f = mpc.all_finite %v : tensor<f32>
  %s = mpc.select %p, %v, %w : tensor<i1>, tensor<f32>, tensor<f32>
  return %f, %s : tensor<i1>, tensor<f32>
}

// -----

// The branch that is taken without the step may not come from one.
mpc.loss_scale initial(8.0) {growth_steps = 2 : i64}
mpc.variable @w : tensor<f32> role trainable
// CHECK: error: update of @w does not depend on the finite test
func.func @train_step(%r: tensor<f32> {mpc.input = "r"}, %w: tensor<f32> {mpc.variable = @w}) -> (tensor<i1> {mpc.output = "finite"}, tensor<f32> {mpc.updates = @w}) attributes {mpc.entry = #mpc.entry_role<train_step>} {
  %f = mpc.all_finite %w : tensor<f32>
  %v = mpc.optimizer_step %w, %w rate(%r) iteration(%r) rule(#mpc.sgd<momentum = 0.0, nesterov = false>) : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %s = mpc.select %f, %w, %v : tensor<i1>, tensor<f32>, tensor<f32>
  return %f, %s : tensor<i1>, tensor<f32>
}

// -----

// What stands for the test must be one.
mpc.loss_scale initial(8.0) {growth_steps = 2 : i64}
mpc.variable @w : tensor<f32> role trainable
// CHECK: error: has no output "finite" that is the finite test of its gradients
func.func @train_step(%p: tensor<i1> {mpc.input = "p"}, %w: tensor<f32> {mpc.variable = @w}) -> (tensor<i1> {mpc.output = "finite"}, tensor<f32> {mpc.updates = @w}) attributes {mpc.entry = #mpc.entry_role<train_step>} {
  %v = mpc.add %w, %w : tensor<f32>, tensor<f32>
  %s = mpc.select %p, %v, %w : tensor<i1>, tensor<f32>, tensor<f32>
  return %p, %s : tensor<i1>, tensor<f32>
}

// -----

// These are right: a select, and a test that more is asked of.
mpc.loss_scale initial(8.0) {growth_steps = 2 : i64}
mpc.variable @w : tensor<f32> role trainable
mpc.variable @u : tensor<f32> role trainable
// CHECK-NOT: error
func.func @train_step(%p: tensor<i1> {mpc.input = "p"}, %w: tensor<f32> {mpc.variable = @w}, %u: tensor<f32> {mpc.variable = @u}) -> (tensor<i1> {mpc.output = "finite"}, tensor<f32> {mpc.updates = @w}, tensor<f32> {mpc.updates = @u}) attributes {mpc.entry = #mpc.entry_role<train_step>} {
  %v = mpc.add %w, %w : tensor<f32>, tensor<f32>
  %f = mpc.all_finite %v : tensor<f32>
  %b = mpc.logical_and %p, %f : tensor<i1>, tensor<i1>
  %s = mpc.select %f, %v, %w : tensor<i1>, tensor<f32>, tensor<f32>
  %t = mpc.select %b, %v, %u : tensor<i1>, tensor<f32>, tensor<f32>
  return %f, %s, %t : tensor<i1>, tensor<f32>, tensor<f32>
}
