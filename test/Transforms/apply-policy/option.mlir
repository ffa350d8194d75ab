// RUN: mpc-opt %s --mpc-apply-policy=policy=mixed_float16 | FileCheck %s --check-prefix=NAME
// RUN: mpc-opt %s --mpc-apply-policy=policy=%S/Inputs/map.json | FileCheck %s --check-prefix=MAP
// RUN: mpc-opt %s --mpc-apply-policy=policy-file=%S/Inputs/map.json | FileCheck %s --check-prefix=MAP
// The option replaces the file's policy of every layer; a map's keys are the exceptions to its default.

// NAME-LABEL: func.func @forward
// MAP-LABEL: func.func @forward
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  // NAME: mpc.layer "dense_1" {{.*}} {precision = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "option">}
  // MAP: mpc.layer "dense_1" {{.*}} {precision = #mpc.precision<compute = f32, variable = f32, accumulate = f32, rule = "option: policy map key \22dense_1\22">}
  %0 = mpc.layer "dense_1" kind "ReLU" inputs(%x) {policy = "bfloat16"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // NAME: mpc.layer "encoder/a" {{.*}} {precision = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "option">}
  // MAP: mpc.layer "encoder/a" {{.*}} {precision = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "option: policy map key \22encoder/.*\22">}
  %1 = mpc.layer "encoder/a" kind "ReLU" inputs(%0) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // MAP: mpc.layer "head" {{.*}} {precision = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "option: policy map default">}
  %2 = mpc.layer "head" kind "ReLU" inputs(%1) {policy = "not even read"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  return %2 : tensor<?x8xf32>
}
