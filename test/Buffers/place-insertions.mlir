// RUN: mpc-opt %s --mpc-place-insertions | FileCheck %s
// RUN: mpc-opt %s --mpc-place-insertions | mpc-opt --mpc-place-insertions | FileCheck %s

#vector = affine_map<(d0) -> (d0)>

// The producer of an inserted slice computes it in its place.
// CHECK-LABEL: func.func @inserted
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[T:.*]]: tensor<8xf32>)
// CHECK: %[[PLACE:.*]] = tensor.extract_slice %[[T]][2] [4] [1]
// CHECK: %[[A:.*]] = linalg.generic {{.*}} outs(%[[PLACE]] : tensor<4xf32>)
// CHECK: tensor.insert_slice %[[A]] into %[[T]][2] [4] [1]
func.func @inserted(%x: tensor<4xf32>, %t: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.negf %i : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %r = tensor.insert_slice %a into %t[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %r : tensor<8xf32>
}

// A function without insertions stays as it is.
// CHECK-LABEL: func.func @alone
// CHECK: %[[E:.*]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT: linalg.generic {{.*}} outs(%[[E]] : tensor<4xf32>)
func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %0 = arith.negf %i : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %a : tensor<4xf32>
}
