// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --mpc-apply-policy=policy=mixed_bfloat16 | FileCheck %s
// What the importer decided stays: an Input's dtype is no policy's business.
// CHECK: mpc.layer "encoder/input_layer" kind "InputLayer" inputs(%{{.*}}) {casts_integers, precision = #mpc.precision<compute = f32, variable = f32, accumulate = f32, rule = "Input">}
// CHECK: mpc.layer "encoder/relu" kind "ReLU" inputs(%{{.*}}) {precision = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "option">}
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %0 = mpc.layer "encoder/input_layer" kind "InputLayer" inputs(%x) {casts_integers, precision = #mpc.precision<compute = f32, variable = f32, accumulate = f32, rule = "Input">} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  %1 = mpc.layer "encoder/relu" kind "ReLU" inputs(%0) {policy = "float16"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %2 = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %2 : tensor<?x8xf32>
  }
  return %1 : tensor<?x8xf32>
}
