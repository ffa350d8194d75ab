// RUN: mpc-opt %s --convert-mpc-to-linalg --canonicalize | FileCheck %s
// Every contraction becomes a matrix product, or a batch of them, between reshapes.

// CHECK-LABEL: func.func @dense
func.func @dense(%x: tensor<?x8xbf16>, %w: tensor<8x4xbf16>, %b: tensor<4xbf16>) -> tensor<?x4xbf16> attributes {mpc.entry} {
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xbf16>, tensor<8x4xbf16>) bias(%{{.*}} : tensor<4xbf16>)
  // CHECK-SAME: outs(%{{.*}} : tensor<?x4xbf16>) activation({{ ?}}relu) {layer = "encoder/dense"} -> tensor<?x4xbf16>
  %0 = mpc.contract %x, %w bias %b contracting [1] x [0] {activation = #mpc<activation relu>} : (tensor<?x8xbf16>, tensor<8x4xbf16>, tensor<4xbf16>) -> tensor<?x4xbf16> loc("encoder/dense")
  return %0 : tensor<?x4xbf16>
}

// Gradients: the stored operand is read transposed.
// CHECK-LABEL: func.func @gradients
func.func @gradients(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>, %g: tensor<?x4xf32>) -> (tensor<8x4xf32>, tensor<?x8xf32>) attributes {mpc.entry = #mpc.entry_role<gradients>} {
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x4xf32>) outs(%{{.*}} : tensor<8x4xf32>) {transpose_lhs}
  %0 = mpc.contract %x, %g contracting [0] x [0] : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<8x4xf32>
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<8x4xf32>) outs(%{{.*}} : tensor<?x8xf32>) {transpose_rhs}
  %1 = mpc.contract %g, %w contracting [1] x [1] : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<?x8xf32>
}

// Free and contracted groups of several dimensions.
// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<?x3x8xf32>, %w: tensor<8x2x4xf32>, %g: tensor<?x3x4xf32>) -> (tensor<?x3x2x4xf32>, tensor<8x4xf32>) attributes {mpc.entry} {
  // CHECK-DAG: tensor.collapse_shape %{{.*}} {{\[}}[0, 1], [2]] : tensor<?x3x8xf32> into tensor<?x8xf32>
  // CHECK-DAG: tensor.collapse_shape %{{.*}} {{\[}}[0], [1, 2]] : tensor<8x2x4xf32> into tensor<8x8xf32>
  // CHECK: %[[P:.*]] = mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8x8xf32>)
  // CHECK: tensor.expand_shape %[[P]] {{\[}}[0, 1], [2, 3]] output_shape [%{{.*}}, 3, 2, 4] : tensor<?x8xf32> into tensor<?x3x2x4xf32>
  %0 = mpc.contract %x, %w contracting [2] x [0] : (tensor<?x3x8xf32>, tensor<8x2x4xf32>) -> tensor<?x3x2x4xf32>
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x4xf32>) outs(%{{.*}} : tensor<8x4xf32>) {transpose_lhs}
  %1 = mpc.contract %x, %g contracting [0, 1] x [0, 1] : (tensor<?x3x8xf32>, tensor<?x3x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<?x3x2x4xf32>, tensor<8x4xf32>
}

// Attention scores: batches in the middle are copied to the front.
// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<?x5x2x4xf32>, %k: tensor<?x6x2x4xf32>) -> tensor<?x2x5x6xf32> attributes {mpc.entry} {
  // CHECK: linalg.generic
  // CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0, 1], [2], [3]] : tensor<?x2x5x4xf32> into tensor<?x5x4xf32>
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x5x4xf32>, tensor<?x4x6xf32>) outs(%{{.*}} : tensor<?x5x6xf32>)
  // CHECK: tensor.expand_shape %{{.*}} {{\[}}[0, 1], [2], [3]] output_shape [%{{.*}}, 2, 5, 6]
  %0 = mpc.contract %q, %k batch [0, 2] x [0, 2] contracting [3] x [3] : (tensor<?x5x2x4xf32>, tensor<?x6x2x4xf32>) -> tensor<?x2x5x6xf32>
  return %0 : tensor<?x2x5x6xf32>
}

// A missing row or column dimension has extent 1.
// CHECK-LABEL: func.func @vectors
func.func @vectors(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8x4xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<8x8xf32>) attributes {mpc.entry} {
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<1x8xf32>, tensor<8x1xf32>) outs(%{{.*}} : tensor<1x1xf32>)
  // CHECK: tensor.collapse_shape %{{.*}} [] : tensor<1x1xf32> into tensor<f32>
  %0 = mpc.contract %x, %y contracting [0] x [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<1x8xf32>, tensor<8x4xf32>) outs(%{{.*}} : tensor<1x4xf32>)
  %1 = mpc.contract %x, %w contracting [0] x [0] : (tensor<8xf32>, tensor<8x4xf32>) -> tensor<4xf32>
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<8x1xf32>, tensor<1x8xf32>) outs(%{{.*}} : tensor<8x8xf32>)
  %2 = mpc.contract %x, %y contracting [] x [] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return %0, %1, %2 : tensor<f32>, tensor<4xf32>, tensor<8x8xf32>
}

// Pairs may be listed in any order.
// CHECK-LABEL: func.func @pairs
func.func @pairs(%x: tensor<?x2x3xf32>, %w: tensor<2x3x4xf32>) -> tensor<?x4xf32> attributes {mpc.entry} {
  // CHECK-NOT: linalg.generic
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x6xf32>, tensor<6x4xf32>)
  %0 = mpc.contract %x, %w contracting [2, 1] x [1, 0] : (tensor<?x2x3xf32>, tensor<2x3x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// A bias of all of the matrix's columns is a vector of them.
// CHECK-LABEL: func.func @bias_of_heads
func.func @bias_of_heads(%x: tensor<?x8xf32>, %w: tensor<8x2x4xf32>, %b: tensor<2x4xf32>) -> tensor<?x2x4xf32> attributes {mpc.entry} {
  // CHECK: %[[B:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  // CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8x8xf32>) bias(%[[B]] : tensor<8xf32>)
  // CHECK-NOT: linalg
  // CHECK: return
  %0 = mpc.contract %x, %w bias %b contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x2x4xf32>, tensor<2x4xf32>) -> tensor<?x2x4xf32>
  return %0 : tensor<?x2x4xf32>
}

// A bias over a part of the matrix's last dimension stays outside.
// CHECK-LABEL: func.func @split_bias
func.func @split_bias(%x: tensor<?x8xf32>, %w: tensor<8x2x4xf32>, %b: tensor<4xf32>) -> tensor<?x2x4xf32> attributes {mpc.entry} {
  // CHECK: mpcrt.contract
  // CHECK-NOT: bias
  // CHECK: arith.addf
  // CHECK: arith.maximumf
  %0 = mpc.contract %x, %w bias %b contracting [1] x [0] {activation = #mpc<activation relu>} : (tensor<?x8xf32>, tensor<8x2x4xf32>, tensor<4xf32>) -> tensor<?x2x4xf32>
  return %0 : tensor<?x2x4xf32>
}
