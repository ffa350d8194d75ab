// RUN: mpc-opt %s --mpc-differentiate --canonicalize --cse | FileCheck %s
// A layer that is called twice narrows its variables twice; the gradients of its calls, each rounded, are summed in the
// variable's dtype, also behind slices. Cotangents of one narrow value are summed in its dtype.
mpc.variable @k : tensor<8x8xf32> role trainable
mpc.variable @b : tensor<2x8xf32> role trainable

// CHECK-LABEL: func.func @gradients
// CHECK-NOT: mpc.add {{.*}} : tensor<{{[28].*}}xf16>
// CHECK: mpc.contract %{{.*}}, %{{.*}} contracting [0] x [0] : (tensor<?x8xf16>, tensor<?x8xf16>) -> tensor<8x8xf16>
// CHECK: mpc.add %{{.*}}, %{{.*}} : tensor<?x8xf16>, tensor<?x8xf16>
// CHECK-NOT: mpc.add
// CHECK: %[[B:.*]] = mpc.add %{{.*}}, %{{.*}} : tensor<2x8xf32>, tensor<2x8xf32>
// CHECK-NOT: mpc.add
// CHECK: %[[K:.*]] = mpc.add %{{.*}}, %{{.*}} : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NOT: mpc.add
// CHECK: return %{{.*}}, %[[K]], %[[B]],
func.func @forward(%x: tensor<?x8xf16> {mpc.input = "x"}, %k: tensor<8x8xf32> {mpc.variable = @k}, %b: tensor<2x8xf32> {mpc.variable = @b}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %k16 = mpc.cast %k : tensor<8x8xf32> to tensor<8x8xf16>
  %b16 = mpc.cast %b : tensor<2x8xf32> to tensor<2x8xf16>
  %row = mpc.slice %b16 {axis = 0 : i64, offset = 1 : i64, size = 1 : i64} : tensor<2x8xf16> -> tensor<1x8xf16>
  %bias = mpc.reshape %row : tensor<1x8xf16> -> tensor<8xf16>
  %y = mpc.contract %x, %k16 contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x8xf16>) -> tensor<?x8xf16>
  %z = mpc.add %y, %bias : tensor<?x8xf16>, tensor<8xf16>
  %t = mpc.tanh %z : tensor<?x8xf16>
  %k16_2 = mpc.cast %k : tensor<8x8xf32> to tensor<8x8xf16>
  %b16_2 = mpc.cast %b : tensor<2x8xf32> to tensor<2x8xf16>
  %row_2 = mpc.slice %b16_2 {axis = 0 : i64, offset = 1 : i64, size = 1 : i64} : tensor<2x8xf16> -> tensor<1x8xf16>
  %bias_2 = mpc.reshape %row_2 : tensor<1x8xf16> -> tensor<8xf16>
  %v = mpc.contract %t, %k16_2 contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x8xf16>) -> tensor<?x8xf16>
  %w = mpc.add %v, %bias_2 : tensor<?x8xf16>, tensor<8xf16>
  %s = mpc.add %w, %t : tensor<?x8xf16>, tensor<?x8xf16>
  %out = mpc.cast %s : tensor<?x8xf16> to tensor<?x8xf32>
  return %out : tensor<?x8xf32>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %m = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %m : tensor<f32>
}
