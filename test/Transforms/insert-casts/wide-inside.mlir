// RUN: mpc-opt %s --mpc-insert-casts | FileCheck %s
// A variable that is not cast at use stays wide in a layer inside another one.
#half = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "file">
mpc.variable @gamma : tensor<8xf32> role trainable layer("outer") {autocast = false}

// CHECK-LABEL: func.func @forward
// CHECK-NOT: mpc.cast %arg1
// CHECK: mpc.multiply %{{.*}}, %arg1 : tensor<?x8xf32>, tensor<8xf32>
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %g: tensor<8xf32> {mpc.variable = @gamma}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %0 = mpc.layer "outer" kind "Outer" inputs(%x) variables(%g) {precision = #half} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>, %v: tensor<8xf32>):
    %1 = mpc.layer "outer/inner" kind "Inner" inputs(%a) variables(%v) {precision = #half} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
    ^bb0(%b: tensor<?x8xf32>, %w: tensor<8xf32>):
      %m = mpc.multiply %b, %w : tensor<?x8xf32>, tensor<8xf32>
      mpc.yield %m : tensor<?x8xf32>
    }
    mpc.yield %1 : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}
