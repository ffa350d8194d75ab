// RUN: mpc-opt %s --mpc-differentiate | FileCheck %s
// The gradient of a float16 mean divides by the number of elements in float32: 65536 would be infinite in float16.
mpc.variable @w : tensor<8xf32> role trainable

// CHECK-LABEL: func.func @gradients
// CHECK: mpc.gradient_seed
// CHECK: %[[WIDE:.*]] = mpc.cast %{{.*}} : tensor<f16> to tensor<f32>
// The batch is counted along one element of the other dimension.
// CHECK: mpc.slice %{{.*}} {axis = 1 : i64, offset = 0 : i64, size = 1 : i64} : tensor<?x8xf16> -> tensor<?x1xf16>
// CHECK: %[[ONES:.*]] = mpc.broadcast_like %{{.*}}, %{{.*}} : tensor<f32>, tensor<?x1xf16>
// CHECK: mpc.reduce sum %[[ONES]] {axes = array<i64: 0, 1>} : tensor<?x1xf32> -> tensor<f32>
// CHECK: %[[SHARE:.*]] = mpc.divide %[[WIDE]], %{{.*}} : tensor<f32>, tensor<f32>
// CHECK: mpc.cast %[[SHARE]] : tensor<f32> to tensor<f16>
func.func @forward(%x: tensor<?x8xf16> {mpc.input = "x"}, %w: tensor<8xf32> {mpc.variable = @w}) -> (tensor<f16> {mpc.output = "out0"}) {
  %k = mpc.cast %w : tensor<8xf32> to tensor<8xf16>
  %y = mpc.multiply %x, %k : tensor<?x8xf16>, tensor<8xf16>
  %m = mpc.reduce mean %y {axes = array<i64: 0, 1>} : tensor<?x8xf16> -> tensor<f16>
  return %m : tensor<f16>
}
func.func @loss(%p: tensor<f32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  return %p : tensor<f32>
}
