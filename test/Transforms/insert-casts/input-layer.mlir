// RUN: mpc-opt %s --mpc-apply-policy=policy=mixed_float16 --mpc-insert-casts --mpc-verify-casts | FileCheck %s
// The input of a nested model keeps its declared dtype under every policy, and casts what it gets.

// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> (tensor<?x4xf32> {mpc.output = "out0"}, tensor<?x4xi32> {mpc.output = "out1"}, tensor<?x4xf16> {mpc.output = "out2"})
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}) -> (tensor<?x4xf32> {mpc.output = "out0"}, tensor<?x4xi32> {mpc.output = "out1"}, tensor<?x4xf32> {mpc.output = "out2"}) {
  // CHECK: %[[H:.*]] = mpc.cast %arg0 : tensor<?x4xf32> to tensor<?x4xf16>
  // CHECK: %[[N:.*]] = mpc.negate %[[H]] : tensor<?x4xf16>
  %0 = mpc.layer "a" kind "Negate" inputs(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x4xf32>):
    %n = mpc.negate %a : tensor<?x4xf32>
    mpc.yield %n : tensor<?x4xf32>
  }
  // CHECK: %[[W:.*]] = mpc.cast %[[N]] : tensor<?x4xf16> to tensor<?x4xf32>
  %1 = mpc.layer "inner/i" kind "InputLayer" inputs(%0) {policy = "float32", casts_integers} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x4xf32>):
    mpc.yield %a : tensor<?x4xf32>
  }
  // CHECK: %[[I:.*]] = mpc.cast %[[N]] : tensor<?x4xf16> to tensor<?x4xi32>
  %2 = mpc.layer "inner/j" kind "InputLayer" inputs(%0) {policy = "float32", autocast = false} : (tensor<?x4xf32>) -> tensor<?x4xi32> {
  ^bb0(%a: tensor<?x4xf32>):
    %n = mpc.cast %a : tensor<?x4xf32> to tensor<?x4xi32>
    mpc.yield %n : tensor<?x4xi32>
  }
  // Integers become floating where a layer's own code promotes them.
  // CHECK: %[[F:.*]] = mpc.cast %[[I]] : tensor<?x4xi32> to tensor<?x4xf16>
  // CHECK: mpc.negate %[[F]] : tensor<?x4xf16>
  %3 = mpc.layer "b" kind "Negate" inputs(%2) : (tensor<?x4xi32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x4xi32>):
    %f = mpc.cast %a : tensor<?x4xi32> to tensor<?x4xf32>
    %n = mpc.negate %f : tensor<?x4xf32>
    mpc.yield %n : tensor<?x4xf32>
  }
  return %1, %2, %3 : tensor<?x4xf32>, tensor<?x4xi32>, tensor<?x4xf32>
}
