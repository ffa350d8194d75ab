// RUN: mpc-opt %s --mpc-differentiate | FileCheck %s
// Factors of a derivative are float32 in 16 bits, where they may leave float16; the product is rounded once. What
// is said to be finite is, in float16.
mpc.variable @w : tensor<8xf32> role trainable

// CHECK-LABEL: func.func @gradients
// CHECK: %[[FINITE:.*]] = mpc.is_finite %[[ALL:.*]] : tensor<?x8xf16>
// CHECK: %[[DY:.*]] = mpc.select %[[FINITE]], %[[ALL]], %{{.*}} : tensor<?x8xi1>, tensor<?x8xf16>, tensor<f16>
// CHECK: %[[WIDE:.*]] = mpc.cast %[[DY]] : tensor<?x8xf16> to tensor<?x8xf32>
// CHECK: %[[POWER:.*]] = mpc.power %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<f32>
// CHECK: %[[FACTOR:.*]] = mpc.multiply %{{.*}}, %[[POWER]] : tensor<f32>, tensor<?x8xf32>
// CHECK: %[[PRODUCT:.*]] = mpc.multiply %[[WIDE]], %[[FACTOR]] : tensor<?x8xf32>, tensor<?x8xf32>
// CHECK: mpc.cast %[[PRODUCT]] : tensor<?x8xf32> to tensor<?x8xf16>
func.func @forward(%x: tensor<?x8xf16> {mpc.input = "x"}, %w: tensor<8xf32> {mpc.variable = @w}) -> (tensor<?x8xf16> {mpc.output = "out0"}) {
  %e = mpc.constant dense<-2.0> : tensor<f16>
  %k = mpc.cast %w : tensor<8xf32> to tensor<8xf16>
  %y = mpc.multiply %x, %k : tensor<?x8xf16>, tensor<8xf16>
  %p = mpc.power %y, %e : tensor<?x8xf16>, tensor<f16>
  %s = mpc.straight_through %p, %p {finite} : tensor<?x8xf16>
  return %s : tensor<?x8xf16>
}
func.func @loss(%p: tensor<?x8xf16> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %f = mpc.cast %p : tensor<?x8xf16> to tensor<?x8xf32>
  %m = mpc.reduce mean %f {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %m : tensor<f32>
}
