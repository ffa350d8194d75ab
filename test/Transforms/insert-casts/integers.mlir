// RUN: mpc-opt %s --mpc-insert-casts --mpc-verify-casts | FileCheck %s
// Integers stay integers, also ids of an Embedding, unless the layer makes them floating.

#mixed = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "file">

// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> (tensor<?x4x10xf16> {mpc.output = "out0"}, tensor<?x8xf16> {mpc.output = "out1"}, tensor<?x4xi32> {mpc.output = "out2"})
func.func @forward(%ids: tensor<?x4xi32> {mpc.input = "ids"}, %image: tensor<?x8xui8> {mpc.input = "image"})
    -> (tensor<?x4x10xf32> {mpc.output = "out0"}, tensor<?x8xf32> {mpc.output = "out1"}, tensor<?x4xi32> {mpc.output = "out2"}) {
  // CHECK-NEXT: %[[E:.*]] = mpc.one_hot %arg0 : tensor<?x4xi32> -> tensor<?x4x10xf16>
  %0 = mpc.layer "embedding" kind "Embedding" inputs(%ids) {precision = #mixed, autocast = false} : (tensor<?x4xi32>) -> tensor<?x4x10xf32> {
  ^bb0(%a: tensor<?x4xi32>):
    %r = mpc.one_hot %a : tensor<?x4xi32> -> tensor<?x4x10xf32>
    mpc.yield %r : tensor<?x4x10xf32>
  }
  // CHECK-NEXT: %[[C:.*]] = mpc.cast %arg1 : tensor<?x8xui8> to tensor<?x8xf16>
  // CHECK: %[[R:.*]] = mpc.multiply %[[C]], %{{.*}} : tensor<?x8xf16>, tensor<f16>
  %1 = mpc.layer "rescaling" kind "Rescaling" inputs(%image) {precision = #mixed, casts_integers} : (tensor<?x8xui8>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xui8>):
    %f = mpc.cast %a : tensor<?x8xui8> to tensor<?x8xf32>
    %c = mpc.constant dense<0.00392156886> : tensor<f32>
    %r = mpc.multiply %f, %c : tensor<?x8xf32>, tensor<f32>
    mpc.yield %r : tensor<?x8xf32>
  }
  // CHECK: %[[I:.*]] = mpc.reshape %arg0 : tensor<?x4xi32> -> tensor<?x4xi32>
  %2 = mpc.layer "move" kind "Reshape" inputs(%ids) {precision = #mixed} : (tensor<?x4xi32>) -> tensor<?x4xi32> {
  ^bb0(%a: tensor<?x4xi32>):
    %r = mpc.reshape %a : tensor<?x4xi32> -> tensor<?x4xi32>
    mpc.yield %r : tensor<?x4xi32>
  }
  return %0, %1, %2 : tensor<?x4x10xf32>, tensor<?x8xf32>, tensor<?x4xi32>
}
