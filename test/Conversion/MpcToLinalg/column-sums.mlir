// RUN: mpc-opt %s --canonicalize '--convert-mpc-to-linalg=column-sums' --canonicalize --cse --mpc-verify-tensors --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// The contraction that makes the gradient of the weights sums the cotangent's columns in float32; what
// becomes of the sums stays.
// CHECK-LABEL: func.func @dense
// REMARK: column-sums{{.*}}columns summed by the contraction of
func.func @dense(%x: tensor<?x8xbf16>, %dy: tensor<?x64xbf16>) -> (tensor<8x64xbf16>, tensor<64xbf16>) attributes {mpc.entry} {
  // CHECK: %[[E:.*]] = tensor.empty() : tensor<64xf32>
  // CHECK: %[[G:.*]]:2 = mpcrt.contract ins(%arg0, %arg1 {{.*}} sums(%[[E]] : tensor<64xf32>) {{.*}}transpose_lhs} -> tensor<8x64xbf16>, tensor<64xf32>
  // CHECK-NOT: addf
  // CHECK: linalg.generic {{.*}} ins(%[[G]]#1
  // CHECK-NOT: addf
  // CHECK: return %[[G]]#0
  %g = mpc.contract %x, %dy contracting [0] x [0] : (tensor<?x8xbf16>, tensor<?x64xbf16>) -> tensor<8x64xbf16>
  %s = mpc.reduce sum %dy {axes = array<i64: 0>} : tensor<?x64xbf16> -> tensor<64xbf16>
  return %g, %s : tensor<8x64xbf16>, tensor<64xbf16>
}

// Through the shapes of a layer on sequences.
// CHECK-LABEL: func.func @sequences
// REMARK: column-sums{{.*}}columns summed by the contraction of
func.func @sequences(%x: tensor<?x5x8xf32>, %dy: tensor<?x5x64xf32>) -> (tensor<8x64xf32>, tensor<64xf32>) attributes {mpc.entry} {
  // CHECK: %[[G:.*]]:2 = mpcrt.contract {{.*}} sums(%{{.*}} : tensor<64xf32>)
  // CHECK-NOT: addf
  // CHECK: return %[[G]]#0, %[[G]]#1
  %s = mpc.reduce sum %dy {axes = array<i64: 0, 1>} : tensor<?x5x64xf32> -> tensor<64xf32>
  %g = mpc.contract %x, %dy contracting [0, 1] x [0, 1] : (tensor<?x5x8xf32>, tensor<?x5x64xf32>) -> tensor<8x64xf32>
  return %g, %s : tensor<8x64xf32>, tensor<64xf32>
}

// What stays a kernel, each for its reason.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: sums(
func.func @kept(%x: tensor<?x8xf32>, %u: tensor<?x64xf32>, %v: tensor<8x64xf32>, %w: tensor<?x16xf32>, %d: tensor<?x64xf64>, %e: tensor<?x8xf64>)
    -> (tensor<64xf32>, tensor<?x8xf32>, tensor<64xf32>, tensor<16xf32>, tensor<64xf64>, tensor<8x64xf64>) attributes {mpc.entry} {
  // REMARK: column-sums{{.*}}the contraction does not read these columns as columns
  %y = mpc.contract %u, %v contracting [1] x [1] : (tensor<?x64xf32>, tensor<8x64xf32>) -> tensor<?x8xf32>
  %s0 = mpc.reduce sum %v {axes = array<i64: 0>} : tensor<8x64xf32> -> tensor<64xf32>
  // REMARK: column-sums{{.*}}no contraction has the summed value on its right
  %s1 = mpc.reduce sum %u {axes = array<i64: 0>} : tensor<?x64xf32> -> tensor<64xf32>
  // REMARK: column-sums{{.*}}no contraction has the summed value on its right
  %s2 = mpc.reduce sum %w {axes = array<i64: 0>} : tensor<?x16xf32> -> tensor<16xf32>
  %s3 = mpc.reduce sum %d {axes = array<i64: 0>} : tensor<?x64xf64> -> tensor<64xf64>
  %g3 = mpc.contract %e, %d contracting [0] x [0] : (tensor<?x8xf64>, tensor<?x64xf64>) -> tensor<8x64xf64>
  return %s0, %y, %s1, %s2, %s3, %g3 : tensor<64xf32>, tensor<?x8xf32>, tensor<64xf32>, tensor<16xf32>, tensor<64xf64>, tensor<8x64xf64>
}

// A shape between may be any; columns of another one are not the sum's, be they more or fewer.
// CHECK-LABEL: func.func @other_columns
// CHECK-NOT: sums(
// CHECK: return
func.func @other_columns(%x: tensor<?x8xf32>, %dy: tensor<?x4x6xf32>, %z: tensor<?x3x8xf32>, %dz: tensor<?x6xf32>)
    -> (tensor<8x24xf32>, tensor<6xf32>, tensor<8x2xf32>, tensor<6xf32>) attributes {mpc.entry} {
  // REMARK: column-sums{{.*}}no contraction has the summed value on its right
  %s = mpc.reduce sum %dy {axes = array<i64: 0, 1>} : tensor<?x4x6xf32> -> tensor<6xf32>
  %r = mpc.reshape %dy : tensor<?x4x6xf32> -> tensor<?x24xf32>
  %g = mpc.contract %x, %r contracting [0] x [0] : (tensor<?x8xf32>, tensor<?x24xf32>) -> tensor<8x24xf32>
  // REMARK: column-sums{{.*}}no contraction has the summed value on its right
  %t = mpc.reduce sum %dz {axes = array<i64: 0>} : tensor<?x6xf32> -> tensor<6xf32>
  %q = mpc.reshape %dz : tensor<?x6xf32> -> tensor<?x3x2xf32>
  %h = mpc.contract %z, %q contracting [0, 1] x [0, 1] : (tensor<?x3x8xf32>, tensor<?x3x2xf32>) -> tensor<8x2xf32>
  return %g, %s, %h, %t : tensor<8x24xf32>, tensor<6xf32>, tensor<8x2xf32>, tensor<6xf32>
}

// What is computed from the sums before the contraction moves behind it: in 16 bits a rounding.
// CHECK-LABEL: func.func @rounded_before
// REMARK: column-sums{{.*}}columns summed by the contraction of
func.func @rounded_before(%x: tensor<?x8xf16>, %dy: tensor<?x64xf16>) -> (tensor<8x64xf16>, tensor<64xf32>) attributes {mpc.entry} {
  // CHECK: %[[G:.*]]:2 = mpcrt.contract {{.*}} sums(%{{.*}} : tensor<64xf32>)
  // CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[G]]#1
  // CHECK: arith.truncf
  // CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%[[S]]
  // CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[W]]
  // CHECK: math.exp
  // CHECK: return %[[G]]#0, %[[E]]
  %s = mpc.reduce sum %dy {axes = array<i64: 0>} : tensor<?x64xf16> -> tensor<64xf16>
  %w = mpc.cast %s : tensor<64xf16> to tensor<64xf32>
  %e = mpc.exp %w : tensor<64xf32>
  %g = mpc.contract %x, %dy contracting [0] x [0] : (tensor<?x8xf16>, tensor<?x64xf16>) -> tensor<8x64xf16>
  return %g, %e : tensor<8x64xf16>, tensor<64xf32>
}

// CHECK-LABEL: func.func @multiplied
// CHECK-NOT: sums(
// REMARK: column-sums{{.*}}the contraction depends on the sums
func.func @multiplied(%dy: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {mpc.entry} {
  %s = mpc.reduce sum %dy {axes = array<i64: 0>} : tensor<8x64xf32> -> tensor<64xf32>
  %e = mpc.exp %s : tensor<64xf32>
  %x = mpc.reshape %e : tensor<64xf32> -> tensor<8x8xf32>
  %g = mpc.contract %x, %dy contracting [0] x [0] : (tensor<8x8xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %g : tensor<8x64xf32>
}
