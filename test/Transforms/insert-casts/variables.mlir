// RUN: mpc-opt %s --mpc-insert-casts --mpc-verify-casts | FileCheck %s
// A pure 16-bit policy stores variables in 16 bits: declaration, arguments and updates follow;
// @loss reads them through a cast and stays float32. Loss terms are float32.

#pure = #mpc.precision<compute = bf16, variable = bf16, accumulate = f32, rule = "file">
// CHECK: mpc.variable @"d/kernel" : tensor<8x4xbf16> role trainable layer("d")
mpc.variable @"d/kernel" : tensor<8x4xf32> role trainable layer("d")
// CHECK: mpc.variable @"d/state" : tensor<4xbf16>
mpc.variable @"d/state" : tensor<4xf32> role non_trainable layer("d")
// CHECK: mpc.variable @seed : tensor<2xi64>
mpc.variable @seed : tensor<2xi64> role random

// CHECK-LABEL: func.func @forward
// CHECK-SAME: %arg1: tensor<8x4xbf16> {mpc.variable = @"d/kernel"}, %arg2: tensor<4xbf16>
// CHECK-SAME: -> (tensor<?x4xbf16> {mpc.output = "out0"}, tensor<4xbf16> {mpc.updates = @"d/state"}, tensor<f32> {mpc.loss_term, mpc.output = "loss_term0"})
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8x4xf32> {mpc.variable = @"d/kernel"}, %s: tensor<4xf32> {mpc.variable = @"d/state"})
    -> (tensor<?x4xf32> {mpc.output = "out0"}, tensor<4xf32> {mpc.updates = @"d/state"}, tensor<f32> {mpc.output = "loss_term0", mpc.loss_term}) {
  // CHECK: %[[Y:.*]] = mpc.contract %{{.*}}, %arg1
  // CHECK: %[[T:.*]] = mpc.reduce sum %[[Y]] {{.*}} -> tensor<bf16>
  // CHECK: %[[L:.*]] = mpc.cast %[[T]] : tensor<bf16> to tensor<f32>
  // CHECK: return %[[Y]], %{{.*}}, %[[L]]
  %0:3 = mpc.layer "d" kind "Dense" inputs(%x) variables(%w, %s) {precision = #pure} : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>, tensor<f32>) {
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4xf32>):
    %r = mpc.contract %a, %b contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
    %n = mpc.negate %c : tensor<4xf32>
    %t = mpc.reduce sum %r {axes = array<i64: 0, 1>} : tensor<?x4xf32> -> tensor<f32>
    mpc.yield %r, %n, %t : tensor<?x4xf32>, tensor<4xf32>, tensor<f32>
  }
  return %0#0, %0#1, %0#2 : tensor<?x4xf32>, tensor<4xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @loss
// CHECK-SAME: %arg0: tensor<?x4xbf16> {mpc.input = "out0"}, %arg1: tensor<8x4xbf16> {mpc.variable = @"d/kernel"}) -> (tensor<f32> {mpc.output = "loss"})
func.func @loss(%p: tensor<?x4xf32> {mpc.input = "out0"}, %w: tensor<8x4xf32> {mpc.variable = @"d/kernel"}) -> (tensor<f32> {mpc.output = "loss"}) {
  // CHECK-DAG: %[[P:.*]] = mpc.cast %arg0 : tensor<?x4xbf16> to tensor<?x4xf32>
  // CHECK-DAG: %[[W:.*]] = mpc.cast %arg1 : tensor<8x4xbf16> to tensor<8x4xf32>
  // CHECK: mpc.reduce mean %[[P]] {{.*}} : tensor<?x4xf32> -> tensor<f32>
  %0 = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x4xf32> -> tensor<f32>
  // CHECK: mpc.multiply %[[W]], %[[W]]
  %1 = mpc.multiply %w, %w : tensor<8x4xf32>, tensor<8x4xf32>
  %2 = mpc.reduce sum %1 {axes = array<i64: 0, 1>} : tensor<8x4xf32> -> tensor<f32>
  %3 = mpc.add %0, %2 : tensor<f32>, tensor<f32>
  return %3 : tensor<f32>
}
