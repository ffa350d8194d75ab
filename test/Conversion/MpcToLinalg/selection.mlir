// RUN: mpc-opt %s --convert-mpc-to-linalg --split-input-file | FileCheck %s
// Ops that carry a count become ops of mpcrt with destinations of their own.

// CHECK-LABEL: func.func @compact
// CHECK-SAME: %[[MASK:.*]]: tensor<8xi1>
// CHECK-DAG: %[[PLACES:.*]] = tensor.empty() : tensor<8xi64>
// CHECK-DAG: %[[COUNT:.*]] = tensor.empty() : tensor<i64>
// CHECK: %[[R:.*]]:2 = mpcrt.compact ins(%[[MASK]] : tensor<8xi1>) outs(%[[PLACES]], %[[COUNT]] : tensor<8xi64>, tensor<i64>) -> tensor<8xi64>, tensor<i64>
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @compact(%mask: tensor<8xi1>) -> (tensor<8xi64>, tensor<i64>) attributes {mpc.entry} {
  %0, %1 = mpc.compact %mask : tensor<8xi1> -> tensor<8xi64>, tensor<i64>
  return %0, %1 : tensor<8xi64>, tensor<i64>
}

// -----

// CHECK-LABEL: func.func @select_boxes
// CHECK-DAG: %[[PICKS:.*]] = tensor.empty(%{{.*}}) : tensor<?x3x5xi32>
// CHECK-DAG: %[[LEFT:.*]] = tensor.empty(%{{.*}}) : tensor<?x3x9xi32>
// CHECK: mpcrt.select_boxes ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x9x4xf32>, tensor<?x3x9xf16>, tensor<f32>) least(%{{.*}} : tensor<f32>) outs(%[[PICKS]], %[[LEFT]] : tensor<?x3x5xi32>, tensor<?x3x9xi32>) {centered} -> tensor<?x3x5xi32>, tensor<?x3x9xi32>
func.func @select_boxes(%boxes: tensor<?x9x4xf32>, %scores: tensor<?x3x9xf16>, %number: tensor<f32>) -> tensor<?x3x5xi32> attributes {mpc.entry} {
  %0 = mpc.select_boxes %boxes, %scores overlap %number least %number {centered, limit = 5 : i64} : tensor<?x9x4xf32>, tensor<?x3x9xf16>, tensor<f32>, tensor<f32> -> tensor<?x3x5xi32>
  return %0 : tensor<?x3x5xi32>
}
