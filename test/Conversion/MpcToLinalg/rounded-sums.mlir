// RUN: mpc-opt %s --canonicalize --mpc-pad-dims=target=cuda --canonicalize '--convert-mpc-to-linalg=column-sums rounded-sums' --canonicalize --cse --mpc-verify-tensors --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// As cuBLASLt gives them: sums in the type of the result. Of bf16 they take in the rounding behind
// them, which they need.
// CHECK-LABEL: func.func @dense
// REMARK: column-sums{{.*}}columns summed by the contraction of
func.func @dense(%x: tensor<?x64xbf16>, %dy: tensor<?x64xbf16>) -> (tensor<64x64xbf16>, tensor<64xbf16>) attributes {mpc.entry} {
  // CHECK: %[[E:.*]] = tensor.empty() : tensor<64xbf16>
  // CHECK: %[[G:.*]]:2 = mpcrt.contract ins(%arg0, %arg1 {{.*}} sums(%[[E]] : tensor<64xbf16>) {{.*}}transpose_lhs} -> tensor<64x64xbf16>, tensor<64xbf16>
  // CHECK-NOT: linalg.generic
  // CHECK: return %[[G]]#0, %[[G]]#1
  %g = mpc.contract %x, %dy contracting [0] x [0] : (tensor<?x64xbf16>, tensor<?x64xbf16>) -> tensor<64x64xbf16>
  %s = mpc.reduce sum %dy {axes = array<i64: 0>} : tensor<?x64xbf16> -> tensor<64xbf16>
  return %g, %s : tensor<64x64xbf16>, tensor<64xbf16>
}

// In float32 there is nothing to round.
// CHECK-LABEL: func.func @single
// REMARK: column-sums{{.*}}columns summed by the contraction of
func.func @single(%x: tensor<?x64xf32>, %dy: tensor<?x10xf32>) -> (tensor<64x10xf32>, tensor<10xf32>) attributes {mpc.entry} {
  // CHECK: %[[G:.*]]:2 = mpcrt.contract {{.*}} sums(%{{.*}} : tensor<10xf32>)
  // CHECK: return %[[G]]#0, %[[G]]#1
  %g = mpc.contract %x, %dy contracting [0] x [0] : (tensor<?x64xf32>, tensor<?x10xf32>) -> tensor<64x10xf32>
  %s = mpc.reduce sum %dy {axes = array<i64: 0>} : tensor<?x10xf32> -> tensor<10xf32>
  return %g, %s : tensor<64x10xf32>, tensor<10xf32>
}

// The contraction reads padded columns; the sums of zeros are sliced off. What is computed from the
// sums before it comes behind it.
// CHECK-LABEL: func.func @padded
// REMARK: column-sums{{.*}}columns summed by the contraction of
func.func @padded(%x: tensor<?x64xf16>, %dy: tensor<?x10xf16>) -> (tensor<64x10xf16>, tensor<10xf32>) attributes {mpc.entry} {
  // CHECK: %[[P:.*]] = tensor.insert_slice %arg1 into %{{.*}} : tensor<?x10xf16> into tensor<?x16xf16>
  // CHECK: %[[G:.*]]:2 = mpcrt.contract ins(%arg0, %[[P]] {{.*}} sums(%{{.*}} : tensor<16xf16>)
  // CHECK: %[[S:.*]] = tensor.extract_slice %[[G]]#1[0] [10] [1] : tensor<16xf16> to tensor<10xf16>
  // CHECK: linalg.generic {{.*}} ins(%[[S]]
  // CHECK: arith.extf
  // CHECK-NOT: truncf
  %s = mpc.reduce sum %dy {axes = array<i64: 0>} : tensor<?x10xf16> -> tensor<10xf16>
  %w = mpc.cast %s : tensor<10xf16> to tensor<10xf32>
  %e = mpc.exp %w : tensor<10xf32>
  %g = mpc.contract %x, %dy contracting [0] x [0] : (tensor<?x64xf16>, tensor<?x10xf16>) -> tensor<64x10xf16>
  return %g, %e : tensor<64x10xf16>, tensor<10xf32>
}

// Sums that are read in float32 are more than the library has.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: sums(
// REMARK: column-sums{{.*}}the sums are not rounded to the type of the contraction's result
func.func @wide(%x: tensor<?x64xbf16>, %dy: tensor<?x64xbf16>) -> (tensor<64x64xbf16>, tensor<64xf32>) attributes {mpc.entry} {
  %w = mpc.cast %dy : tensor<?x64xbf16> to tensor<?x64xf32>
  %s = mpc.reduce sum %w {axes = array<i64: 0>} : tensor<?x64xf32> -> tensor<64xf32>
  %g = mpc.contract %x, %dy contracting [0] x [0] : (tensor<?x64xbf16>, tensor<?x64xbf16>) -> tensor<64x64xbf16>
  return %g, %s : tensor<64x64xbf16>, tensor<64xf32>
}
