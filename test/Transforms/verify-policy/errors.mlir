// RUN: not mpc-opt %s --mpc-verify-policy 2>&1 | FileCheck %s
#f32 = #mpc.precision<compute = f32, variable = f32, accumulate = f32, rule = "file">
#bf16 = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "file">
#narrow = #mpc.precision<compute = f16, variable = f32, accumulate = f16, rule = "file">

func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  // CHECK: error: layer "a" has no precision; run mpc-apply-policy
  %0 = mpc.layer "a" kind "ReLU" inputs(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  %1 = mpc.layer "b" kind "ReLU" inputs(%0) {precision = #f32} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  // CHECK: error: layer "b" has another precision than an earlier call of it
  // CHECK: note: the earlier call
  %2 = mpc.layer "b" kind "ReLU" inputs(%1) {precision = #bf16} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  // CHECK: error: layer "c" computes in 'f16' and accumulates in 'f16'; expected 'f32'
  %3 = mpc.layer "c" kind "ReLU" inputs(%2) {precision = #narrow} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  // CHECK: error: layer "d" still has an unresolved policy beside its precision
  %4 = mpc.layer "d" kind "ReLU" inputs(%3) {precision = #f32, policy = "float16"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  return %4 : tensor<?x8xf32>
}
