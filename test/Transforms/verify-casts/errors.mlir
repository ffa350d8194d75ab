// RUN: not mpc-opt %s --mpc-verify-casts=guard=true 2>&1 | FileCheck %s

// CHECK: error: layer "a" is still there; run mpc-insert-casts
// CHECK: error: output "out0" is 'bf16'; expected float32 under the output guard
// CHECK: error: the loss is 'f64'; expected f32
// CHECK: error: argument "out0" has type 'tensor<?x8xf32>', which is not what @forward returns under that name
func.func @forward(%x: tensor<?x8xbf16> {mpc.input = "x"}) -> (tensor<?x8xbf16> {mpc.output = "out0"}) {
  %0 = mpc.layer "a" kind "ReLU" inputs(%x) : (tensor<?x8xbf16>) -> tensor<?x8xbf16> {
  ^bb0(%a: tensor<?x8xbf16>):
    mpc.yield %a : tensor<?x8xbf16>
  }
  return %0 : tensor<?x8xbf16>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f64> {mpc.output = "loss"}) {
  %0 = mpc.constant dense<0.0> : tensor<f64>
  return %0 : tensor<f64>
}
