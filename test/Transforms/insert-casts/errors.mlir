// RUN: not mpc-opt %s --mpc-insert-casts 2>&1 | FileCheck %s
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  // CHECK: error: layer "a" has no precision; run mpc-apply-policy first
  %0 = mpc.layer "a" kind "ReLU" inputs(%x) {policy = "mixed_float16"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}
