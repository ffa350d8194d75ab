// RUN: mpc-opt %s --canonicalize '--convert-mpc-to-linalg=relu-masks' --canonicalize --cse --mpc-verify-tensors --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// The contraction with the relu leaves bits; the one that writes the cotangent reads them. What else
// reads relu's result still does.
// CHECK-LABEL: func.func @dense
// REMARK: relu-mask{{.*}}derivative of relu applied by the contraction that writes the cotangent
func.func @dense(%x: tensor<?x8xf16>, %w: tensor<8x200xf16>, %b: tensor<200xf16>, %v: tensor<200x4xf16>, %dz: tensor<?x4xf16>)
    -> (tensor<?x200xf16>, tensor<200x4xf16>) attributes {mpc.entry} {
  // CHECK: %[[E:.*]] = tensor.empty(%{{.*}}) : tensor<?x32xi8>
  // CHECK: %[[Y:.*]]:2 = mpcrt.contract ins(%{{.*}}) bias(%{{.*}}) outs(%{{.*}}) mask(%[[E]] : tensor<?x32xi8>) activation( relu) {{.*}}-> tensor<?x200xf16>, tensor<?x32xi8>
  // CHECK: %[[D:.*]] = mpcrt.contract ins(%{{.*}}) where(%[[Y]]#1 : tensor<?x32xi8>) outs({{.*}}) {{.*}}transpose_rhs} -> tensor<?x200xf16>
  // CHECK: mpcrt.contract ins(%[[Y]]#0, %{{.*}}) {{.*}}transpose_lhs
  // CHECK-NOT: arith.select
  // CHECK: return %[[D]],
  %zero = mpc.constant dense<0.0> : tensor<f16>
  %y = mpc.contract %x, %w bias %b contracting [1] x [0] {activation = #mpc<activation relu>} : (tensor<?x8xf16>, tensor<8x200xf16>, tensor<200xf16>) -> tensor<?x200xf16>
  %dy = mpc.contract %dz, %v contracting [1] x [1] : (tensor<?x4xf16>, tensor<200x4xf16>) -> tensor<?x200xf16>
  %p = mpc.compare gt %y, %zero : tensor<?x200xf16>, tensor<f16>
  %d = mpc.select %p, %dy, %zero : tensor<?x200xi1>, tensor<?x200xf16>, tensor<f16>
  %dv = mpc.contract %y, %dz contracting [0] x [0] : (tensor<?x200xf16>, tensor<?x4xf16>) -> tensor<200x4xf16>
  return %d, %dv : tensor<?x200xf16>, tensor<200x4xf16>
}

// Through the shapes of a layer on sequences; two cotangents share the bits.
// CHECK-LABEL: func.func @sequences
// REMARK-COUNT-2: relu-mask{{.*}}derivative of relu applied
func.func @sequences(%x: tensor<?x5x8xf32>, %w: tensor<8x64xf32>, %v: tensor<64x4xf32>, %dz: tensor<?x5x4xf32>, %du: tensor<?x5x4xf32>)
    -> (tensor<?x5x64xf32>, tensor<?x5x64xf32>) attributes {mpc.entry} {
  // CHECK: %[[Y:.*]]:2 = mpcrt.contract {{.*}} mask(%{{.*}} : tensor<?x16xi8>) activation( relu)
  // CHECK: mpcrt.contract {{.*}} where(%[[Y]]#1 : tensor<?x16xi8>)
  // CHECK: mpcrt.contract {{.*}} where(%[[Y]]#1 : tensor<?x16xi8>)
  // CHECK-NOT: arith.select
  %zero = mpc.constant dense<0.0> : tensor<f32>
  %y = mpc.contract %x, %w contracting [2] x [0] {activation = #mpc<activation relu>} : (tensor<?x5x8xf32>, tensor<8x64xf32>) -> tensor<?x5x64xf32>
  %p = mpc.compare gt %y, %zero : tensor<?x5x64xf32>, tensor<f32>
  %dy = mpc.contract %dz, %v contracting [2] x [1] : (tensor<?x5x4xf32>, tensor<64x4xf32>) -> tensor<?x5x64xf32>
  %d = mpc.select %p, %dy, %zero : tensor<?x5x64xi1>, tensor<?x5x64xf32>, tensor<f32>
  %ey = mpc.contract %du, %v contracting [2] x [1] : (tensor<?x5x4xf32>, tensor<64x4xf32>) -> tensor<?x5x64xf32>
  %e = mpc.select %p, %ey, %zero : tensor<?x5x64xi1>, tensor<?x5x64xf32>, tensor<f32>
  return %d, %e : tensor<?x5x64xf32>, tensor<?x5x64xf32>
}

// What stays a kernel, each for its reason.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: mask(
// CHECK-NOT: where(
func.func @kept(%x: tensor<?x8xf16>, %y: tensor<?x64xf16>, %w: tensor<8x64xf16>, %n: tensor<8x8xf16>, %dz: tensor<?x8xf16>, %ready: tensor<?x64xf16>)
    -> (tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x8xf16>, tensor<?x64xf16>) attributes {mpc.entry} {
  %zero = mpc.constant dense<0.0> : tensor<f16>
  // REMARK: relu-mask{{.*}}relu is not in the epilogue of a contraction
  %p0 = mpc.compare gt %y, %zero : tensor<?x64xf16>, tensor<f16>
  %g0 = mpc.contract %dz, %w contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x64xf16>) -> tensor<?x64xf16>
  %d0 = mpc.select %p0, %g0, %zero : tensor<?x64xi1>, tensor<?x64xf16>, tensor<f16>
  // REMARK: relu-mask{{.*}}the cotangent is not what a contraction writes
  %r = mpc.contract %x, %w contracting [1] x [0] {activation = #mpc<activation relu>} : (tensor<?x8xf16>, tensor<8x64xf16>) -> tensor<?x64xf16>
  %p1 = mpc.compare gt %r, %zero : tensor<?x64xf16>, tensor<f16>
  %d1 = mpc.select %p1, %ready, %zero : tensor<?x64xi1>, tensor<?x64xf16>, tensor<f16>
  // REMARK: relu-mask{{.*}}the cotangent has other uses
  %g2 = mpc.contract %dz, %w contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x64xf16>) -> tensor<?x64xf16>
  %d2 = mpc.select %p1, %g2, %zero : tensor<?x64xi1>, tensor<?x64xf16>, tensor<f16>
  // REMARK: relu-mask{{.*}}the contraction that writes the cotangent applies an activation
  %g3 = mpc.contract %dz, %w contracting [1] x [0] {activation = #mpc<activation relu>} : (tensor<?x8xf16>, tensor<8x64xf16>) -> tensor<?x64xf16>
  %d3 = mpc.select %p1, %g3, %zero : tensor<?x64xi1>, tensor<?x64xf16>, tensor<f16>
  // REMARK: relu-mask{{.*}}rows of bits would be no shorter than rows of the result
  %s = mpc.contract %x, %n contracting [1] x [0] {activation = #mpc<activation relu>} : (tensor<?x8xf16>, tensor<8x8xf16>) -> tensor<?x8xf16>
  %p4 = mpc.compare gt %s, %zero : tensor<?x8xf16>, tensor<f16>
  %g4 = mpc.contract %dz, %n contracting [1] x [0] : (tensor<?x8xf16>, tensor<8x8xf16>) -> tensor<?x8xf16>
  %d4 = mpc.select %p4, %g4, %zero : tensor<?x8xi1>, tensor<?x8xf16>, tensor<f16>
  return %d0, %d1, %d2, %d3, %d4, %g2 : tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x8xf16>, tensor<?x64xf16>
}

// A gate whose value was computed first: its bits would come too late.
// CHECK-LABEL: func.func @gate
// CHECK-NOT: mask(
// CHECK-NOT: where(
func.func @gate(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x64xf32>) -> tensor<?x64xf32> attributes {mpc.entry} {
  // REMARK: relu-mask{{.*}}the contraction with the relu comes after the other one
  %zero = mpc.constant dense<0.0> : tensor<f32>
  %value = mpc.contract %x, %v contracting [1] x [0] : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %r = mpc.contract %x, %w contracting [1] x [0] {activation = #mpc<activation relu>} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %p = mpc.compare gt %r, %zero : tensor<?x64xf32>, tensor<f32>
  %gated = mpc.select %p, %value, %zero : tensor<?x64xi1>, tensor<?x64xf32>, tensor<f32>
  return %gated : tensor<?x64xf32>
}
