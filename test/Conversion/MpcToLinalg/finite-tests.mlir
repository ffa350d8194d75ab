// RUN: mpc-opt %s --canonicalize '--convert-mpc-to-linalg=finite-tests' --mpc-verify-tensors --remark-format=emitRemark --remarks-filter=mpc-fusion 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// A float16 weight gradient, widened for the optimizer, is tested as the contraction writes it.
// CHECK-LABEL: func.func @weight_gradient
func.func @weight_gradient(%x: tensor<?x8xf16>, %dy: tensor<?x4xf16>) -> (tensor<8x4xf32>, tensor<i1>) attributes {mpc.entry} {
  // CHECK: %[[LARGEST:.*]] = tensor.empty() : tensor<i16>
  // CHECK: %[[G:.*]]:2 = mpcrt.contract {{.*}} largest(%[[LARGEST]] : tensor<i16>) {transpose_lhs} -> tensor<8x4xf16>, tensor<i16>
  // CHECK-NOT: arith.maxui
  // CHECK: linalg.generic {{.*}} ins(%[[G]]#1 : tensor<i16>)
  // REMARK: finite-test{{.*}}tested while the contraction's result is in cache
  %g = mpc.contract %x, %dy contracting [0] x [0] : (tensor<?x8xf16>, tensor<?x4xf16>) -> tensor<8x4xf16>
  %wide = mpc.cast %g : tensor<8x4xf16> to tensor<8x4xf32>
  %f = mpc.all_finite %wide : tensor<8x4xf32>
  return %wide, %f : tensor<8x4xf32>, tensor<i1>
}

// Also through a reshape, and next to a gradient that something else produces.
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<?x8xf32>, %dy: tensor<?x4xf32>) -> tensor<i1> attributes {mpc.entry} {
  // CHECK: mpcrt.contract {{.*}} largest(%{{.*}} : tensor<i32>)
  // CHECK: arith.maxui
  // CHECK-NOT: arith.maxui
  // REMARK: finite-test{{.*}}the gradient is not what a contraction writes
  %g = mpc.contract %x, %dy contracting [0] x [0] : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<8x4xf32>
  %r = mpc.reshape %g : tensor<8x4xf32> -> tensor<32xf32>
  %b = mpc.reduce sum %dy {axes = array<i64: 0>} : tensor<?x4xf32> -> tensor<4xf32>
  %f = mpc.all_finite %r, %b : tensor<32xf32>, tensor<4xf32>
  return %f : tensor<i1>
}
