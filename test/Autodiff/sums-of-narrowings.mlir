// RUN: mpc-opt %s --mpc-insert-casts --mpc-simplify-casts --mpc-differentiate --canonicalize --cse | FileCheck %s
// Layers that narrow one float32 tensor each have a cast of it, as in Keras, so that its gradients are summed in
// float32. What one layer has narrowed once for several readers has one cast, and its gradients are summed narrow.
#f16 = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "file">
#f32 = #mpc.precision<compute = f32, variable = f32, accumulate = f32, rule = "file">
mpc.variable @w : tensor<8xf32> role trainable layer("wide")
mpc.variable @v : tensor<8xf32> role trainable layer("normal")

// CHECK-LABEL: func.func @gradients
// CHECK: mpc.gradient_seed
// CHECK: %[[NARROW:.*]] = mpc.add %{{.*}}, %{{.*}} : tensor<?x8xf16>, tensor<?x8xf16>
// CHECK-NOT: mpc.add
// CHECK: %[[ONCE:.*]] = mpc.cast %[[NARROW]] : tensor<?x8xf16> to tensor<?x8xf32>
// CHECK-NOT: mpc.add
// CHECK: %[[WIDE:.*]] = mpc.add %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x8xf32>
// CHECK: mpc.multiply %[[WIDE]], %arg1
// CHECK: %[[X:.*]] = mpc.add
// CHECK-NOT: mpc.add
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %[[X]],
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8xf32> {mpc.variable = @w}, %v: tensor<8xf32> {mpc.variable = @v}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %wide = mpc.layer "wide" kind "Wide" inputs(%x) variables(%w) {precision = #f32} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>, %k: tensor<8xf32>):
    %r = mpc.multiply %a, %k : tensor<?x8xf32>, tensor<8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  %p = mpc.layer "p" kind "P" inputs(%wide) {precision = #f16} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.tanh %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  %q = mpc.layer "q" kind "Q" inputs(%wide) {precision = #f16} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.sin %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // Normalisations compute in float32 and narrow their result at their end.
  %n = mpc.layer "normal" kind "N" inputs(%x) variables(%v) {precision = #f16, autocast = false} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>, %k: tensor<8xf32>):
    %r = mpc.multiply %a, %k : tensor<?x8xf32>, tensor<8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  %s = mpc.layer "s" kind "S" inputs(%n) {precision = #f16} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.tanh %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  %t = mpc.layer "t" kind "T" inputs(%n) {precision = #f16} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %r = mpc.sin %a : tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  %out = mpc.layer "sum" kind "Add" inputs(%p, %q, %s, %t) {precision = #f32} : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>, %c: tensor<?x8xf32>, %d: tensor<?x8xf32>):
    %ab = mpc.add %a, %b : tensor<?x8xf32>, tensor<?x8xf32>
    %cd = mpc.add %c, %d : tensor<?x8xf32>, tensor<?x8xf32>
    %r = mpc.add %ab, %cd : tensor<?x8xf32>, tensor<?x8xf32>
    mpc.yield %r : tensor<?x8xf32>
  }
  return %out : tensor<?x8xf32>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %m = mpc.reduce sum %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %m : tensor<f32>
}
