// RUN: mpc-opt %s --mpc-insert-casts --mpc-simplify-casts --mpc-verify-casts | FileCheck %s
// Two calls of one layer each cast its variable, as Keras does, also after simplification; nested
// layers follow their own precision, and the outer one returns what they give it.

#f16 = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "file">
#f32 = #mpc.precision<compute = f32, variable = f32, accumulate = f32, rule = "file">
mpc.variable @"d/kernel" : tensor<8x8xf32> role trainable layer("d")

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8x8xf32> {mpc.variable = @"d/kernel"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  // CHECK-COUNT-2: mpc.cast %arg1
  // CHECK-NOT: mpc.cast %arg1
  %0 = mpc.layer "d" kind "Dense" inputs(%x) variables(%w) {precision = #f16} : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>, %k: tensor<8x8xf32>):
    %r = mpc.contract %a, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  %1 = mpc.layer "d" kind "Dense" inputs(%0) variables(%w) {precision = #f16} : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>, %k: tensor<8x8xf32>):
    %r = mpc.contract %a, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: %[[N:.*]] = mpc.negate %{{.*}} : tensor<?x8xf16>
  // CHECK: %[[W:.*]] = mpc.cast %[[N]] : tensor<?x8xf16> to tensor<?x8xf32>
  // CHECK: %[[T:.*]] = mpc.tanh %[[W]] : tensor<?x8xf32>
  // CHECK: return %[[T]] : tensor<?x8xf32>
  %2 = mpc.layer "outer" kind "Outer" inputs(%1) {precision = #f16} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %n = mpc.negate %a : tensor<?x8xf32>
    %i = mpc.layer "outer/inner" kind "Inner" inputs(%n) {precision = #f32} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
    ^bb0(%b: tensor<?x8xf32>):
      %t = mpc.tanh %b : tensor<?x8xf32>
      mpc.yield %t : tensor<?x8xf32>
    }
    mpc.yield %i : tensor<?x8xf32>
  }
  return %2 : tensor<?x8xf32>
}
