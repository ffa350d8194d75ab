// RUN: mpc-opt %s --mpc-insert-casts --mpc-verify-casts | FileCheck %s
// A float32 layer in a mixed model gets its inputs widened and reads float32 variables; the next
// mixed layer narrows again.

#mixed = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "file">
#full = #mpc.precision<compute = f32, variable = f32, accumulate = f32, rule = "file">
mpc.variable @"n/gamma" : tensor<8xf32> role trainable layer("n")

// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> (tensor<?x8xf16> {mpc.output = "out0"})
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %g: tensor<8xf32> {mpc.variable = @"n/gamma"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  // CHECK: %[[A:.*]] = mpc.cast %arg0 : tensor<?x8xf32> to tensor<?x8xf16>
  // CHECK: %[[R:.*]] = mpc.relu %[[A]] : tensor<?x8xf16>
  %0 = mpc.layer "a" kind "ReLU" inputs(%x) {precision = #mixed} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: %[[W:.*]] = mpc.cast %[[R]] : tensor<?x8xf16> to tensor<?x8xf32>
  // CHECK: %[[M:.*]] = mpc.multiply %[[W]], %arg1 : tensor<?x8xf32>, tensor<8xf32>
  %1 = mpc.layer "n" kind "Scale" inputs(%0) variables(%g) {precision = #full} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<8xf32>):
    %r = mpc.multiply %a, %b : tensor<?x8xf32>, tensor<8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: %[[N:.*]] = mpc.cast %[[M]] : tensor<?x8xf32> to tensor<?x8xf16>
  // CHECK: mpc.relu %[[N]] : tensor<?x8xf16>
  %2 = mpc.layer "c" kind "ReLU" inputs(%1) {precision = #mixed} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  return %2 : tensor<?x8xf32>
}
