// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-differentiate=custom-loop=false --mpc-scale-loss --mpc-trace-numerics | FileCheck %s
// A training step reports cotangents, gradients with the loss scale and without, and what the
// optimizer does; it changes no variable.

mpc.variable @"dense/kernel" : tensor<8x4xf32> role trainable layer("dense")
mpc.variable @"metric/loss/total" : tensor<f32> role metric
mpc.loss_scale initial(32768.0) {growth_steps = 2000 : i64}
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.9 : f64, nesterov = false>) {learning_rate = 0.01 : f64}

func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8x4xf32> {mpc.variable = @"dense/kernel"})
    -> (tensor<?x4xf32> {mpc.output = "out0"}) {
  %0 = mpc.cast %x : tensor<?x8xf32> to tensor<?x8xf16> loc("dense")
  %1 = mpc.cast %w : tensor<8x4xf32> to tensor<8x4xf16> loc("dense")
  %2 = mpc.contract %0, %1 contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x4xf16>) -> tensor<?x4xf16> loc("dense")
  %3 = mpc.cast %2 : tensor<?x4xf16> to tensor<?x4xf32> loc("dense")
  return %3 : tensor<?x4xf32>
}
func.func @loss(%p: tensor<?x4xf32> {mpc.input = "out0"}, %y: tensor<?x4xf32> {mpc.target = "y0"}, %t: tensor<f32> {mpc.variable = @"metric/loss/total"})
    -> (tensor<f32> {mpc.output = "loss"}, tensor<f32> {mpc.updates = @"metric/loss/total"}) {
  %d = mpc.multiply %p, %y : tensor<?x4xf32>, tensor<?x4xf32>
  %l = mpc.reduce sum %d {axes = array<i64: 0, 1>} : tensor<?x4xf32> -> tensor<f32>
  %n = mpc.add %t, %l : tensor<f32>, tensor<f32>
  return %l, %n : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @train_step
// CHECK-NOT: mpc.trace
// CHECK-LABEL: func.func @trace_predict
// CHECK-LABEL: func.func @trace_step
// CHECK-NOT: mpc.updates
// CHECK-SAME: mpc.entry = #mpc.entry_role<trace_step>
// CHECK: mpc.trace forward {{.*}} "multiply" of "loss"
// CHECK: mpc.trace backward {{.*}} of "dense"
// CHECK: mpc.trace backward {{[0-9]+}} "scaled_gradient:kernel" of "dense"({{.*}}) from [{{.*}}] scaled
// CHECK: mpc.divide
// CHECK: mpc.trace backward {{[0-9]+}} "gradient:kernel" of "dense"
// CHECK: mpc.optimizer_step
// CHECK: mpc.trace optimizer {{[0-9]+}} "updated:kernel" of "dense"
// CHECK: mpc.subtract
// CHECK: mpc.trace optimizer {{[0-9]+}} "update:kernel" of "dense"
// CHECK: return
// CHECK-LABEL: func.func @twin_step
// CHECK-NOT: f16
// CHECK-LABEL: func.func @apart_step
// CHECK: mpc.cast %{{.*}} : tensor<?x8xf32> to tensor<?x8xf16>
