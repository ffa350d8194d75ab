// RUN: mpc-opt %s --mpc-insert-casts --mpc-guard-outputs --mpc-verify-casts=guard=true | FileCheck %s
// A declaration has no outputs to guard, and no loss to match.
// CHECK: func.func private @loss
// CHECK: func.func @forward
func.func private @loss(tensor<?x2xf32>) -> tensor<f32>
func.func @forward(%x: tensor<?x2xf32> {mpc.input = "x"}) -> (tensor<?x2xf32> {mpc.output = "out0"}) {
  return %x : tensor<?x2xf32>
}
