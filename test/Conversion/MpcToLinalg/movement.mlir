// RUN: mpc-opt %s --convert-mpc-to-linalg --canonicalize | FileCheck %s
// Views where there is one, copies into destinations elsewhere.

// CHECK-LABEL: func.func @reshape
func.func @reshape(%x: tensor<?x4x6xf32>) -> (tensor<?x24xf32>, tensor<?x3x8xf32>, tensor<?x2x2x6xf32>) attributes {mpc.entry} {
  // CHECK-DAG: tensor.collapse_shape %{{.*}} {{\[}}[0], [1, 2]] : tensor<?x4x6xf32> into tensor<?x24xf32>
  %0 = mpc.reshape %x : tensor<?x4x6xf32> -> tensor<?x24xf32>
  // CHECK-DAG: tensor.expand_shape %{{.*}} {{\[}}[0], [1, 2]] output_shape [%{{.*}}, 3, 8] : tensor<?x24xf32> into tensor<?x3x8xf32>
  %1 = mpc.reshape %x : tensor<?x4x6xf32> -> tensor<?x3x8xf32>
  // CHECK-DAG: tensor.expand_shape %{{.*}} {{\[}}[0], [1, 2], [3]] output_shape [%{{.*}}, 2, 2, 6]
  %2 = mpc.reshape %x : tensor<?x4x6xf32> -> tensor<?x2x2x6xf32>
  return %0, %1, %2 : tensor<?x24xf32>, tensor<?x3x8xf32>, tensor<?x2x2x6xf32>
}

// CHECK-LABEL: func.func @scalars
func.func @scalars(%x: tensor<f32>, %y: tensor<1x1xf32>) -> (tensor<1x1xf32>, tensor<f32>) attributes {mpc.entry} {
  // CHECK-DAG: tensor.expand_shape %{{.*}} [] output_shape [1, 1]
  %0 = mpc.reshape %x : tensor<f32> -> tensor<1x1xf32>
  // CHECK-DAG: tensor.collapse_shape %{{.*}} [] : tensor<1x1xf32> into tensor<f32>
  %1 = mpc.reshape %y : tensor<1x1xf32> -> tensor<f32>
  return %0, %1 : tensor<1x1xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @join
func.func @join(%x: tensor<?x2xf32>, %y: tensor<?x3xf32>) -> tensor<?x5xf32> attributes {mpc.entry} {
  // CHECK: %[[EMPTY:.*]] = tensor.empty(%{{.*}}) : tensor<?x5xf32>
  // CHECK: mpcrt.concatenate ins(%{{.*}}, %{{.*}} : tensor<?x2xf32>, tensor<?x3xf32>) outs(%[[EMPTY]] : tensor<?x5xf32>) axis 1 -> tensor<?x5xf32>
  %0 = mpc.concatenate %x, %y {axis = 1 : i64} : (tensor<?x2xf32>, tensor<?x3xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}

// CHECK-LABEL: func.func @cut
func.func @cut(%x: tensor<?x8xf32>) -> (tensor<?x3xf32>, tensor<?x16xf32>) attributes {mpc.entry} {
  // CHECK: tensor.extract_slice %{{.*}}[0, 2] [%{{.*}}, 3] [1, 1]
  %0 = mpc.slice %x {axis = 1 : i64, offset = 2 : i64, size = 3 : i64} : tensor<?x8xf32> -> tensor<?x3xf32>
  // CHECK: %[[F:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<?x16xf32>)
  // CHECK: tensor.insert_slice %{{.*}} into %[[F]][0, 0] [%{{.*}}, 8] [1, 1]
  %1 = mpc.pad %x {axis = 1 : i64, low = 0 : i64, high = 8 : i64, value = 0.0 : f64} : tensor<?x8xf32> -> tensor<?x16xf32>
  return %0, %1 : tensor<?x3xf32>, tensor<?x16xf32>
}

// Labels are compared as integers.
// CHECK-LABEL: func.func @one_hot
func.func @one_hot(%l: tensor<?xui8>) -> tensor<?x10xf32> attributes {mpc.entry} {
  // CHECK: arith.extui %{{.*}} : i8 to i64
  // CHECK: arith.cmpi eq, %{{.*}}, %{{.*}} : i64
  // CHECK-NOT: fp
  // CHECK: linalg.yield
  %0 = mpc.one_hot %l : tensor<?xui8> -> tensor<?x10xf32>
  return %0 : tensor<?x10xf32>
}
