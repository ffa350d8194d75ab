// RUN: mpc-opt %s --mpc-insert-casts --mpc-verify-casts | FileCheck %s
// Functional ops have no policy: operands are promoted, bfloat16 with float16 to float32.

#f16 = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "file">
#bf16 = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "file">
#f64 = #mpc.precision<compute = f64, variable = f64, accumulate = f64, rule = "file">

// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> (tensor<?x8xf32> {mpc.output = "out0"}, tensor<?x8xf16> {mpc.output = "out1"}, tensor<?x8xf64> {mpc.output = "out2"})
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}, tensor<?x8xf32> {mpc.output = "out1"}, tensor<?x8xf32> {mpc.output = "out2"}) {
  // CHECK: %[[A:.*]] = mpc.relu {{.*}}xf16>
  %0 = mpc.layer "a" kind "ReLU" inputs(%x) {precision = #f16} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: %[[B:.*]] = mpc.relu {{.*}}xbf16>
  %1 = mpc.layer "b" kind "ReLU" inputs(%x) {precision = #bf16} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: %[[C:.*]] = mpc.relu {{.*}}xf64>
  %2 = mpc.layer "c" kind "ReLU" inputs(%x) {precision = #f64} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK-DAG: %[[AW:.*]] = mpc.cast %[[A]] : tensor<?x8xf16> to tensor<?x8xf32>
  // CHECK-DAG: %[[BW:.*]] = mpc.cast %[[B]] : tensor<?x8xbf16> to tensor<?x8xf32>
  // CHECK: %[[S:.*]] = mpc.add %[[AW]], %[[BW]] : tensor<?x8xf32>, tensor<?x8xf32>
  %3 = mpc.add %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
  // A Python number does not promote.
  // CHECK: %[[K:.*]] = mpc.constant dense<2.500000e+00> : tensor<f16>
  // CHECK: %[[M:.*]] = mpc.multiply %[[A]], %[[K]] : tensor<?x8xf16>, tensor<f16>
  %k = mpc.constant dense<2.5> : tensor<f32>
  %4 = mpc.multiply %0, %k : tensor<?x8xf32>, tensor<f32>
  // Of broadcast_like's second operand only the shape counts.
  // CHECK: mpc.broadcast_like %[[C]], %[[A]] : tensor<?x8xf64>, tensor<?x8xf16>
  %5 = mpc.broadcast_like %2, %0 : tensor<?x8xf32>, tensor<?x8xf32>
  return %3, %4, %5 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}
