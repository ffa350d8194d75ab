// RUN: mpc-opt %s --mpc-differentiate --canonicalize --cse | FileCheck %s
// What every step of a loop shares has a gradient that is summed in float32 and not rounded on its way to a float32
// variable: through casts, slices and reshapes.
mpc.variable @k : tensor<3x8xf32> role trainable
mpc.variable @u : tensor<8x8xf32> role trainable
mpc.variable @b : tensor<2x8xf32> role trainable
mpc.variable @h : tensor<8x8xf16> role trainable

// CHECK-LABEL: func.func @gradients
// CHECK-COUNT-2: mpc.scan
// CHECK: %[[H:.*]] = mpc.contract %{{.*}}, %{{.*}} contracting [0, 1] x [0, 1] : (tensor<?x4x8xf16>, tensor<?x4x8xf16>) -> tensor<8x8xf32>
// CHECK: %[[STEPS:.*]] = mpc.cast %{{.*}} : tensor<?x4x8xf16> to tensor<?x4x8xf32>
// CHECK: %[[ROW:.*]] = mpc.reduce{{ +}}sum %[[STEPS]] {axes = array<i64: 0, 1>} : tensor<?x4x8xf32> -> tensor<8xf32>
// CHECK: %[[U:.*]] = mpc.contract %{{.*}}, %{{.*}} contracting [0, 1] x [0, 1] : (tensor<?x4x8xf16>, tensor<?x4x8xf16>) -> tensor<8x8xf32>
// In front of the loop, where an op stands for one in each step.
// CHECK: %[[K:.*]] = mpc.contract %arg0, %{{.*}} contracting [0, 1] x [0, 1] : (tensor<?x4x3xf16>, tensor<?x4x8xf16>) -> tensor<3x8xf32>
// CHECK: %[[RESHAPED:.*]] = mpc.reshape %[[ROW]] : tensor<8xf32> -> tensor<1x8xf32>
// CHECK: %[[B:.*]] = mpc.pad %[[RESHAPED]] {{.*}} : tensor<1x8xf32> -> tensor<2x8xf32>
// A variable of 16 bits has a gradient of 16.
// CHECK: %[[ROUNDED:.*]] = mpc.cast %[[H]] : tensor<8x8xf32> to tensor<8x8xf16>
// CHECK: %[[G:.*]] = mpc.cast %[[ROUNDED]] : tensor<8x8xf16> to tensor<8x8xf32>
// CHECK: return %{{.*}}, %[[K]], %[[U]], %[[B]], %[[G]],
func.func @forward(%x: tensor<?x4x3xf16> {mpc.input = "x"}, %k: tensor<3x8xf32> {mpc.variable = @k}, %u: tensor<8x8xf32> {mpc.variable = @u}, %b: tensor<2x8xf32> {mpc.variable = @b}, %h: tensor<8x8xf16> {mpc.variable = @h}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %k16 = mpc.cast %k : tensor<3x8xf32> to tensor<3x8xf16>
  %u16 = mpc.cast %u : tensor<8x8xf32> to tensor<8x8xf16>
  %b16 = mpc.cast %b : tensor<2x8xf32> to tensor<2x8xf16>
  %row = mpc.slice %b16 {axis = 0 : i64, offset = 1 : i64, size = 1 : i64} : tensor<2x8xf16> -> tensor<1x8xf16>
  %bias = mpc.reshape %row : tensor<1x8xf16> -> tensor<8xf16>
  %p = mpc.contract %x, %k16 contracting [2] x [0] {every_step} : (tensor<?x4x3xf16>, tensor<3x8xf16>) -> tensor<?x4x8xf16>
  %first = mpc.slice %p {axis = 1 : i64, offset = 0 : i64, size = 1 : i64} : tensor<?x4x8xf16> -> tensor<?x1x8xf16>
  %init = mpc.reshape %first : tensor<?x1x8xf16> -> tensor<?x8xf16>
  %last = mpc.scan inits(%init) scanned(%p) captures(%u16, %bias, %h) {steps = 4 : i64}
      : (tensor<?x8xf16>, tensor<?x4x8xf16>, tensor<8x8xf16>, tensor<8xf16>, tensor<8x8xf16>) -> tensor<?x8xf16> {
  ^bb0(%s: tensor<?x8xf16>, %px: tensor<?x8xf16>, %uc: tensor<8x8xf16>, %bc: tensor<8xf16>, %hc: tensor<8x8xf16>):
    %y = mpc.contract %s, %uc contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x8xf16>) -> tensor<?x8xf16>
    %z = mpc.add %y, %bc : tensor<?x8xf16>, tensor<8xf16>
    %v = mpc.add %z, %px : tensor<?x8xf16>, tensor<?x8xf16>
    %t = mpc.tanh %v : tensor<?x8xf16>
    %w = mpc.contract %t, %hc contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x8xf16>) -> tensor<?x8xf16>
    mpc.yield %w : tensor<?x8xf16>
  }
  %out = mpc.cast %last : tensor<?x8xf16> to tensor<?x8xf32>
  return %out : tensor<?x8xf32>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %m = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %m : tensor<f32>
}
