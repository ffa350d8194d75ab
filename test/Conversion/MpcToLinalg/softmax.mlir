// RUN: mpc-opt %s --convert-mpc-to-linalg --canonicalize | FileCheck %s
// float32 between the links of the chain, one rounding at the end.

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<?x8xbf16>) -> tensor<?x8xbf16> attributes {mpc.entry} {
  // CHECK: arith.maximumf %{{.*}}, %{{.*}} : f32
  // CHECK-NOT: truncf
  // CHECK: math.exp %{{.*}} : f32
  // CHECK-NOT: truncf
  // CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc> : f32
  // CHECK: %[[Q:.*]] = arith.divf %{{.*}}, %{{.*}} : f32
  // CHECK: arith.truncf %[[Q]] : f32 to bf16
  // CHECK-NOT: math.exp
  %0 = mpc.softmax %x {axis = 1 : i64} : tensor<?x8xbf16>
  return %0 : tensor<?x8xbf16>
}

// The logarithm of the sum is taken once per row.
// CHECK-LABEL: func.func @cross_entropy
func.func @cross_entropy(%x: tensor<?x8xf32>, %t: tensor<?x8xf32>) -> tensor<?xf32> attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%{{.*}} : tensor<?xf32>)
  // CHECK: math.log
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]}
  // CHECK: %[[S:.*]] = arith.subf
  // CHECK: %[[T:.*]] = arith.subf %{{.*}}, %[[S]] : f32
  // CHECK: arith.mulf %{{.*}}, %[[T]] : f32
  %0 = mpc.softmax_cross_entropy %x, %t : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// Not the last axis.
// CHECK-LABEL: func.func @axis
func.func @axis(%x: tensor<?x8x4xf32>) -> tensor<?x8x4xf32> attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "parallel"]}
  %0 = mpc.log_softmax %x {axis = 1 : i64} : tensor<?x8x4xf32>
  return %0 : tensor<?x8x4xf32>
}
