// RUN: mpc-opt %s --mpc-to-module > %t && FileCheck %s < %t
// RUN: mpc-opt %s --mpc-to-module --mlir-disable-threading | diff - %t
// Two layers in mixed_float16 with Adam and a dynamic loss scale, through all phases. The trials of passes on
// other IR (test/Long/ir_trials.py) start from here, too. Names and code do not depend on threads.
// CHECK: llvm.func @train_step
mpc.variable @"a/kernel" : tensor<16x32xf32> role trainable layer("a") {initializer = #mpc.initializer<uniform, a = -0.3, b = 0.3>}
mpc.variable @"a/bias" : tensor<32xf32> role trainable layer("a") {initializer = #mpc.initializer<zeros>}
mpc.variable @"b/kernel" : tensor<32x10xf32> role trainable layer("b") {initializer = #mpc.initializer<uniform, a = -0.3, b = 0.3>}
mpc.variable @"b/bias" : tensor<10xf32> role trainable layer("b") {initializer = #mpc.initializer<zeros>}
mpc.optimizer "adam" rule(#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-07 : f64, amsgrad = false>) {learning_rate = 1.0e-03 : f64}
func.func @forward(%x: tensor<?x16xf32> {mpc.input = "x"}, %k: tensor<16x32xf32> {mpc.variable = @"a/kernel"}, %c: tensor<32xf32> {mpc.variable = @"a/bias"}, %l: tensor<32x10xf32> {mpc.variable = @"b/kernel"}, %d: tensor<10xf32> {mpc.variable = @"b/bias"}) -> (tensor<?x10xf32> {mpc.output = "out0"}) {
  %h = mpc.layer "a" kind "Dense" inputs(%x) variables(%k, %c) {policy = "mixed_float16"} : (tensor<?x16xf32>, tensor<16x32xf32>, tensor<32xf32>) -> tensor<?x32xf32> {
  ^bb0(%i: tensor<?x16xf32>, %w: tensor<16x32xf32>, %v: tensor<32xf32>):
    %0 = mpc.contract %i, %w contracting [1] x [0] : (tensor<?x16xf32>, tensor<16x32xf32>) -> tensor<?x32xf32>
    %1 = mpc.add %0, %v : tensor<?x32xf32>, tensor<32xf32>
    %2 = mpc.relu %1 : tensor<?x32xf32>
    mpc.yield %2 : tensor<?x32xf32>
  }
  %y = mpc.layer "b" kind "Dense" inputs(%h) variables(%l, %d) {policy = "mixed_float16"} : (tensor<?x32xf32>, tensor<32x10xf32>, tensor<10xf32>) -> tensor<?x10xf32> {
  ^bb0(%i: tensor<?x32xf32>, %w: tensor<32x10xf32>, %v: tensor<10xf32>):
    %0 = mpc.contract %i, %w contracting [1] x [0] : (tensor<?x32xf32>, tensor<32x10xf32>) -> tensor<?x10xf32>
    %1 = mpc.add %0, %v : tensor<?x10xf32>, tensor<10xf32>
    %2 = mpc.softmax %1 {axis = 1 : i64} : tensor<?x10xf32>
    mpc.yield %2 : tensor<?x10xf32>
  }
  return %y : tensor<?x10xf32>
}
func.func @loss(%p: tensor<?x10xf32> {mpc.input = "out0"}, %t: tensor<?x10xf32> {mpc.target = "y0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %c = mpc.constant dense<1.0e-07> : tensor<f32>
  %m = mpc.maximum %p, %c : tensor<?x10xf32>, tensor<f32>
  %l = mpc.log %m : tensor<?x10xf32>
  %e = mpc.softmax_cross_entropy %l, %t : tensor<?x10xf32>, tensor<?x10xf32> -> tensor<?xf32>
  %s = mpc.reduce mean %e {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  return %s : tensor<f32>
}
