// RUN: mpc-opt %s --mpc-fuse-linalg=target=cuda --canonicalize | FileCheck %s
// RUN: mpc-opt %s --mpc-fuse-linalg | FileCheck %s --check-prefix=CPU
// On a GPU a number of scalars is an argument of the kernels that read it, whatever its shape is: a launch that computes it would
// be waited for.

#none = affine_map<() -> ()>
#same = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @share(
// CHECK-SAME: %[[N:.*]]: f32
// CHECK: %[[SHARE:.*]] = arith.divf %{{.*}}, %[[N]] : f32
// CHECK-NOT: iterator_types = []
// CHECK: linalg.generic {{.*}} ins(%[[SHARE]], %{{.*}} : f32, tensor<?xf32>)
// CPU-LABEL: func.func @share(
// CPU: iterator_types = []
func.func @share(%n: f32, %weights: tensor<?xf32>) -> tensor<?xf32> attributes {mpc.entry} {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<f32>
  %share = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%n : f32) outs(%e : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.divf %one, %i : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %shaped = tensor.expand_shape %share [] output_shape [1] : tensor<f32> into tensor<1xf32>
  %d = tensor.dim %weights, %c0 : tensor<?xf32>
  %f = tensor.empty(%d) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (0)>, #same, #same], iterator_types = ["parallel"]} ins(%shaped, %weights : tensor<1xf32>, tensor<?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%i: f32, %w: f32, %o: f32):
    %0 = arith.mulf %i, %w : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// What something else reads stays a tensor.
// CHECK-LABEL: func.func @returned(
// CHECK: iterator_types = []
func.func @returned(%n: f32) -> tensor<f32> attributes {mpc.entry} {
  %e = tensor.empty() : tensor<f32>
  %share = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%n : f32) outs(%e : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.negf %i : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  return %share : tensor<f32>
}
