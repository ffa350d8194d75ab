// RUN: mpc-opt %s -split-input-file --mpc-decide-loss-scale | FileCheck %s
// RUN: mpc-opt %s -split-input-file --mpc-decide-loss-scale="option=none" | FileCheck %s --check-prefix=NONE
// RUN: mpc-opt %s -split-input-file --mpc-decide-loss-scale="option=fixed:128" | FileCheck %s --check-prefix=FIXED
// RUN: mpc-opt %s -split-input-file --mpc-decide-loss-scale="option=dynamic:16:3:1:65536" | FileCheck %s --check-prefix=DYNAMIC
// RUN: mpc-opt %s -split-input-file --mpc-decide-loss-scale --mpc-decide-loss-scale | FileCheck %s
// RUN: not mpc-opt %s -split-input-file --mpc-decide-loss-scale="option=dynamic" 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: error: --loss-scale=dynamic: expected auto, none, fixed:N or dynamic:INITIAL:GROWTH_STEPS[:MIN:MAX]

// A layer that computes in float16 on float32 variables brings dynamic scaling.
// CHECK: mpc.loss_scale initial(3.276800e+04) {growth_steps = 2000 : i64}
// NONE-NOT: mpc.loss_scale
// FIXED: mpc.loss_scale initial(1.280000e+02){{$}}
// DYNAMIC: mpc.loss_scale initial(1.600000e+01) {growth_steps = 3 : i64, maximum = 6.553600e+04 : f64, minimum = 1.000000e+00 : f64}
module {
  mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 1.0e-2 : f64}
  mpc.variable @k : tensor<8x4xf32> role trainable
  func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8x4xf32> {mpc.variable = @k}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
    %y = mpc.layer "dense" kind "Dense" inputs(%x) variables(%w) {precision = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "option">} : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32> {
    ^bb0(%a: tensor<?x8xf32>, %k: tensor<8x4xf32>):
      %0 = mpc.contract %a, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
      mpc.yield %0 : tensor<?x4xf32>
    }
    return %y : tensor<?x4xf32>
  }
}

// -----

// The file's own declaration stays.
// CHECK: mpc.loss_scale initial(2.000000e+00) {growth_steps = 7 : i64}
// CHECK-NOT: mpc.loss_scale
// FIXED: mpc.loss_scale initial(1.280000e+02){{$}}
// NONE-NOT: mpc.loss_scale
module {
  mpc.loss_scale initial(2.0) {growth_steps = 7 : i64}
  mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 1.0e-2 : f64}
}

// -----

// Nothing is trained: nothing is declared.
// CHECK: module
// CHECK-NOT: mpc.loss_scale
// FIXED: module
// FIXED-NOT: mpc.loss_scale initial(1.28
module {
}
