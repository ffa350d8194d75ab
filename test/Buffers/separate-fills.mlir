// RUN: mpc-opt %s --mpc-separate-fills | FileCheck %s
// RUN: mpc-opt %s --mpc-separate-fills | mpc-opt --mpc-separate-fills | FileCheck %s

#vector = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// CHECK-LABEL: func.func @two_sums
// CHECK: %[[A:.*]] = linalg.fill
// CHECK-NEXT: linalg.generic {{.*}} ins(%arg0 : tensor<8xf32>) outs(%[[A]]
// CHECK: %[[B:.*]] = linalg.fill
// CHECK-NEXT: linalg.generic {{.*}} ins(%arg1 : tensor<8xf32>) outs(%[[B]]
func.func @two_sums(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %0 = linalg.generic {indexing_maps = [#vector, #none], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%start : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %s = arith.addf %i, %o : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %1 = linalg.generic {indexing_maps = [#vector, #none], iterator_types = ["reduction"]} ins(%y : tensor<8xf32>) outs(%start : tensor<f32>) {
  ^bb0(%i: f32, %o: f32):
    %s = arith.addf %i, %o : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// What is read as a value may be shared.
// CHECK-LABEL: func.func @read
// CHECK-COUNT-1: linalg.fill
// CHECK-NOT: linalg.fill
func.func @read() -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %start, %start : tensor<8xf32>, tensor<8xf32>
}

// Two ops that start from one empty tensor would share its buffer.
// CHECK-LABEL: func.func @two_empties
// CHECK: %[[A:.*]] = tensor.empty
// CHECK-NEXT: linalg.generic {{.*}} outs(%[[A]]
// CHECK: %[[B:.*]] = tensor.empty
// CHECK-NEXT: linalg.generic {{.*}} outs(%[[B]]
func.func @two_empties(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %s = arith.addf %i, %i : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%0 : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %s = arith.mulf %i, %i : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// What is concatenated is a buffer of its own, also where it is inserted into something else.
// CHECK-LABEL: func.func @concatenation
// CHECK: %[[OWN:.*]] = bufferization.alloc_tensor(%{{.*}}) : tensor<?x4xf32>
// CHECK: mpcrt.concatenate {{.*}} outs(%[[OWN]] : tensor<?x4xf32>)
func.func @concatenation(%a: tensor<?x2xf32>, %stack: tensor<?x3x4xf32>, %n: index) -> tensor<?x3x4xf32> {
  %empty = tensor.empty(%n) : tensor<?x4xf32>
  %c = mpcrt.concatenate ins(%a, %a : tensor<?x2xf32>, tensor<?x2xf32>) outs(%empty : tensor<?x4xf32>) axis 1 -> tensor<?x4xf32>
  %s = tensor.insert_slice %c into %stack[0, 1, 0] [%n, 1, 4] [1, 1, 1] : tensor<?x4xf32> into tensor<?x3x4xf32>
  return %s : tensor<?x3x4xf32>
}
