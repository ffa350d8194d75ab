// RUN: mpc-opt %s --mpc-insert-casts --mpc-verify-casts | FileCheck %s
// cast_like becomes the cast that Keras's promotion asks for, or nothing; a layer that is called
// twice hands the variable's new value on in the variable's type.

#mixed = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "file">
#double = #mpc.precision<compute = f64, variable = f64, accumulate = f64, rule = "file">
mpc.variable @"norm/mean" : tensor<4xf32> role non_trainable layer("norm") {autocast = false}

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %i: tensor<?x4xi32> {mpc.input = "i"}, %s: tensor<4xf32> {mpc.variable = @"norm/mean"})
    -> (tensor<?x4xf32> {mpc.output = "out0"}, tensor<?x4xf32> {mpc.output = "out1"}, tensor<?x4xf32> {mpc.output = "out2"}, tensor<?x4xf32> {mpc.output = "out3"}, tensor<4xf32> {mpc.updates = @"norm/mean"}) {
  // The input is narrow, statistics are wide, the new mean stays float32 between the calls.
  // CHECK: %[[N:.*]] = mpc.cast %arg0 : tensor<?x4xf32> to tensor<?x4xbf16>
  // CHECK: %[[W:.*]] = mpc.cast %[[N]] : tensor<?x4xbf16> to tensor<?x4xf32>
  // CHECK: %[[M:.*]] = mpc.reduce mean %[[W]] {{.*}} -> tensor<4xf32>
  // CHECK: %[[B1:.*]] = mpc.add %arg2, %[[M]] : tensor<4xf32>
  // CHECK-NOT: bf16
  // CHECK: mpc.cast %[[W]] : tensor<?x4xf32> to tensor<?x4xbf16>
  %0:2 = mpc.layer "norm" kind "N" inputs(%x) variables(%s) {precision = #mixed, updates = [unit, @"norm/mean"]} : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<?x4xf32>, %b: tensor<4xf32>):
    %w = mpc.cast_like %a like(%a) {wide} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %m = mpc.reduce mean %w {axes = array<i64: 0>} : tensor<?x4xf32> -> tensor<4xf32>
    %n = mpc.add %b, %m : tensor<4xf32>, tensor<4xf32>
    mpc.yield %w, %n : tensor<?x4xf32>, tensor<4xf32>
  }
  // CHECK: %[[B2:.*]] = mpc.add %[[B1]], %{{.*}} : tensor<4xf32>
  %1:2 = mpc.layer "norm" kind "N" inputs(%0#0) variables(%0#1) {precision = #mixed, updates = [unit, @"norm/mean"]} : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<?x4xf32>, %b: tensor<4xf32>):
    %m = mpc.reduce mean %a {axes = array<i64: 0>} : tensor<?x4xf32> -> tensor<4xf32>
    %n = mpc.add %b, %m : tensor<4xf32>, tensor<4xf32>
    mpc.yield %a, %n : tensor<?x4xf32>, tensor<4xf32>
  }
  // Wide keeps float64; what is wide enough needs no cast.
  // CHECK: %[[D:.*]] = mpc.cast %arg0 : tensor<?x4xf32> to tensor<?x4xf64>
  // CHECK-NEXT: %[[E:.*]] = mpc.negate %[[D]] : tensor<?x4xf64>
  %2 = mpc.layer "wide" kind "W" inputs(%x) {precision = #double} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x4xf32>):
    %w = mpc.cast_like %a like(%a) {wide} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %n = mpc.negate %w : tensor<?x4xf32>
    mpc.yield %n : tensor<?x4xf32>
  }
  // Outside of layers: an integer meets a bfloat16 tensor; a dtype that the graph names.
  // CHECK: %[[I:.*]] = mpc.cast %arg1 : tensor<?x4xi32> to tensor<?x4xbf16>
  // CHECK: mpc.multiply %{{.*}}, %[[I]] : tensor<?x4xbf16>, tensor<?x4xbf16>
  %like = mpc.cast_like %i like(%1#0) : (tensor<?x4xi32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = mpc.multiply %1#0, %like : tensor<?x4xf32>, tensor<?x4xf32>
  // CHECK: mpc.cast %arg1 : tensor<?x4xi32> to tensor<?x4xf16>
  %4 = mpc.cast_like %i {to = f16} : (tensor<?x4xi32>) -> tensor<?x4xf32>
  // CHECK: return %{{.*}}, %[[E]], %{{.*}}, %{{.*}}, %[[B2]]
  return %1#0, %2, %3, %4, %1#1 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>
}
