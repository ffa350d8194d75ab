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
// CHECK: error: has no output "finite" although the loss scale is dynamic
func.func @train_step(%w: tensor<f32> {mpc.variable = @w}) -> (tensor<f32> {mpc.updates = @w}, tensor<f32> {mpc.updates = @moving}) {
  %v = mpc.add %w, %w : tensor<f32>, tensor<f32>
  return %v, %v : tensor<f32>, tensor<f32>
}
