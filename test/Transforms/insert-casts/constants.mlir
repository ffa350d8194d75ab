// RUN: mpc-opt %s --mpc-insert-casts | FileCheck %s
// RUN: mpc-opt %s --mpc-insert-casts -o %t.once
// RUN: mpc-opt %t.once --mpc-insert-casts | diff %t.once -
// A weak constant is rounded once, from the number that the model file holds: 0.3 of a float64 layer
// is not 0.3 of float32, and what float32 rounds on its way to bfloat16 is not rounded twice.

#double = #mpc.precision<compute = f64, variable = f64, accumulate = f64, rule = "file">
#half = #mpc.precision<compute = bf16, variable = bf16, accumulate = f32, rule = "file">
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %y: tensor<?x4xf32> {mpc.input = "y"}, %z: tensor<?x3x2xf32> {mpc.input = "z"})
    -> (tensor<?x4xf32> {mpc.output = "out0"}, tensor<?x4xf32> {mpc.output = "out1"}, tensor<?x3x2xf32> {mpc.output = "out2"}) {
  // CHECK: mpc.constant dense<3.000000e-01> : tensor<f64>
  // CHECK: mpc.constant dense<0.10000000149011612> : tensor<f64>
  %a = mpc.layer "double" kind "Scale" inputs(%x) {precision = #double} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%v: tensor<?x4xf32>):
    %c = mpc.constant {exact = 3.000000e-01 : f64} dense<3.000000e-01> : tensor<f32>
    %d = mpc.constant dense<1.000000e-01> : tensor<f32>
    %p = mpc.multiply %v, %c : tensor<?x4xf32>, tensor<f32>
    %q = mpc.multiply %p, %d : tensor<?x4xf32>, tensor<f32>
    mpc.yield %q : tensor<?x4xf32>
  }
  // What a scan starts with, too.
  // CHECK: %[[START:.*]] = mpc.constant dense<1.000000e-01> : tensor<2xf64>
  // CHECK: mpc.scan inits(%[[START]])
  %s = mpc.layer "scan" kind "Scan" inputs(%z) {precision = #double} : (tensor<?x3x2xf32>) -> tensor<?x3x2xf32> {
  ^bb0(%v: tensor<?x3x2xf32>):
    %c = mpc.constant {exact = 1.000000e-01 : f64} dense<1.000000e-01> : tensor<2xf32>
    %last, %sums = mpc.scan inits(%c) scanned(%v) {steps = 3 : i64} : (tensor<2xf32>, tensor<?x3x2xf32>) -> (tensor<2xf32>, tensor<?x3x2xf32>) {
    ^bb0(%carried: tensor<2xf32>, %slice: tensor<?x2xf32>):
      %sum = mpc.add %slice, %carried : tensor<?x2xf32>, tensor<2xf32>
      mpc.yield %carried, %sum : tensor<2xf32>, tensor<?x2xf32>
    }
    mpc.yield %sums : tensor<?x3x2xf32>
  }
  // 1 + 2^-8 + 2^-40 lies above the middle of two bfloat16 numbers; as float32 it is the middle.
  // CHECK: mpc.constant dense<1.007810e+00> : tensor<bf16>
  %b = mpc.layer "half" kind "Scale" inputs(%y) {precision = #half} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%v: tensor<?x4xf32>):
    %c = mpc.constant {exact = 0x3FF0100000001000 : f64} dense<1.00390625> : tensor<f32>
    %p = mpc.multiply %v, %c : tensor<?x4xf32>, tensor<f32>
    mpc.yield %p : tensor<?x4xf32>
  }
  return %a, %b, %s : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x3x2xf32>
}
