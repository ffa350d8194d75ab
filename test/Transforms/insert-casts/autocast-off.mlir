// RUN: mpc-opt %s --mpc-insert-casts --mpc-verify-casts | FileCheck %s
// `autocast = false` on a layer (LayerNormalization, Embedding): inputs and variables keep their
// type, the result has the compute dtype. On a variable (BatchNormalization's): only that one.

#mixed = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "file">
mpc.variable @"ln/gamma" : tensor<8xf32> role trainable layer("ln") {autocast = false}
mpc.variable @"bn/mean" : tensor<8xf32> role non_trainable layer("bn") {autocast = false}

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %g: tensor<8xf32> {mpc.variable = @"ln/gamma"},
                   %m: tensor<8xf32> {mpc.variable = @"bn/mean"})
    -> (tensor<?x8xf32> {mpc.output = "out0"}, tensor<8xf32> {mpc.updates = @"bn/mean"}) {
  // CHECK-NEXT: %[[A:.*]] = mpc.multiply %arg0, %arg1 : tensor<?x8xf32>, tensor<8xf32>
  // CHECK-NEXT: %[[B:.*]] = mpc.cast %[[A]] : tensor<?x8xf32> to tensor<?x8xf16>
  %0 = mpc.layer "ln" kind "LayerNormalization" inputs(%x) variables(%g) {precision = #mixed, autocast = false} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<8xf32>):
    %r = mpc.multiply %a, %b : tensor<?x8xf32>, tensor<8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // Operands of different types are promoted, and updates have the variable's type.
  // CHECK-NEXT: %[[C:.*]] = mpc.cast %[[B]] : tensor<?x8xf16> to tensor<?x8xf32>
  // CHECK-NEXT: %[[D:.*]] = mpc.subtract %[[C]], %arg2 : tensor<?x8xf32>, tensor<8xf32>
  // CHECK-NEXT: %[[S:.*]] = mpc.reduce mean %[[D]] {axes = array<i64: 0>} : tensor<?x8xf32> -> tensor<8xf32>
  // CHECK-NEXT: %[[E:.*]] = mpc.cast %[[D]] : tensor<?x8xf32> to tensor<?x8xf16>
  // CHECK-NEXT: return %[[E]], %[[S]] : tensor<?x8xf16>, tensor<8xf32>
  %1:2 = mpc.layer "bn" kind "BatchNormalization" inputs(%0) variables(%m) {precision = #mixed} : (tensor<?x8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<8xf32>):
    %r = mpc.subtract %a, %b : tensor<?x8xf32>, tensor<8xf32>
    %s = mpc.reduce mean %r {axes = array<i64: 0>} : tensor<?x8xf32> -> tensor<8xf32>
    mpc.yield %r, %s : tensor<?x8xf32>, tensor<8xf32>
  }
  return %1#0, %1#1 : tensor<?x8xf32>, tensor<8xf32>
}
