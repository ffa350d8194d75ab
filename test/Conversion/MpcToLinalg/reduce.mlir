// RUN: mpc-opt %s --convert-mpc-to-linalg --canonicalize | FileCheck %s
// Reductions accumulate in float32 (float64), divide there and round once.

// CHECK-LABEL: func.func @mean_of_rows
func.func @mean_of_rows(%x: tensor<?x8xbf16>) -> tensor<?xbf16> attributes {mpc.entry} {
  // CHECK: linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<?xf32>)
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<?x8xbf16>) outs(%{{.*}} : tensor<?xf32>)
  // CHECK: %[[X:.*]] = arith.extf
  // CHECK: arith.addf %{{.*}}, %[[X]] fastmath<reassoc> : f32
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?xf32>) outs(%{{.*}} : tensor<?xbf16>)
  // CHECK: %[[Q:.*]] = arith.divf %{{.*}}, %{{.*}} : f32
  // CHECK: arith.truncf %[[Q]] : f32 to bf16
  %0 = mpc.reduce mean %x {axes = array<i64: 1>} : tensor<?x8xbf16> -> tensor<?xbf16>
  return %0 : tensor<?xbf16>
}

// The extent of the batch is counted as an integer.
// CHECK-LABEL: func.func @mean_of_batch
func.func @mean_of_batch(%x: tensor<?x8xf32>) -> tensor<f32> attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "reduction"]}
  // CHECK: %[[D:.*]] = tensor.dim
  // CHECK: %[[I:.*]] = arith.index_cast %[[D]] : index to i64
  // CHECK: %[[N:.*]] = arith.muli %[[I]], %c8_i64
  // CHECK: arith.sitofp %[[N]] : i64 to f32
  %0 = mpc.reduce mean %x {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// Columns: the loop over the batch stays outside, the sums side by side.
// CHECK-LABEL: func.func @columns
func.func @columns(%x: tensor<?x8xf32>) -> tensor<1x8xf32> attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]}
  // CHECK: tensor.expand_shape
  %0 = mpc.reduce sum %x {axes = array<i64: 0>, keep_dims} : tensor<?x8xf32> -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}

// CHECK-LABEL: func.func @extremes
func.func @extremes(%x: tensor<?x8xf64>, %m: tensor<?x8xi1>) -> (tensor<?xf64>, tensor<i1>) attributes {mpc.entry} {
  // CHECK: arith.minimumf %{{.*}}, %{{.*}} : f64
  %0 = mpc.reduce min %x {axes = array<i64: 1>} : tensor<?x8xf64> -> tensor<?xf64>
  // CHECK: arith.andi %{{.*}}, %{{.*}} : i1
  %1 = mpc.reduce all %m {axes = array<i64: 0, 1>} : tensor<?x8xi1> -> tensor<i1>
  return %0, %1 : tensor<?xf64>, tensor<i1>
}

// The sum of one repeated number is a product; nothing is stored or summed.
// CHECK-LABEL: func.func @repeated
// CHECK-NOT: "reduction"
// CHECK: %[[N:.*]] = arith.sitofp %{{.*}} : i64 to f32
// CHECK: linalg.generic {{.*}}iterator_types = []} ins(%arg1, %[[N]] : tensor<f32>, f32)
// CHECK: arith.mulf
// CHECK: return
func.func @repeated(%x: tensor<?xf32>, %s: tensor<f32>) -> tensor<f32> attributes {mpc.entry} {
  %0 = mpc.broadcast_like %s, %x : tensor<f32>, tensor<?xf32>
  %1 = mpc.reduce sum %0 {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  return %1 : tensor<f32>
}

// Its maximum is none of a product.
// CHECK-LABEL: func.func @largest_repeated
// CHECK: iterator_types = ["reduction"]
func.func @largest_repeated(%x: tensor<?xf32>, %s: tensor<f32>) -> tensor<f32> attributes {mpc.entry} {
  %0 = mpc.broadcast_like %s, %x : tensor<f32>, tensor<?xf32>
  %1 = mpc.reduce max %0 {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  return %1 : tensor<f32>
}

// What is widened to be summed is read as it is.
// CHECK-LABEL: func.func @widened
func.func @widened(%x: tensor<?x8xf16>) -> tensor<8xf32> attributes {mpc.entry} {
  // CHECK-NOT: arith.extf
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x8xf16>) outs(%{{.*}} : tensor<8xf32>)
  // CHECK: %[[X:.*]] = arith.extf
  // CHECK: arith.addf %{{.*}}, %[[X]] fastmath<reassoc> : f32
  // CHECK-NOT: arith.truncf
  // CHECK: return
  %0 = mpc.cast %x : tensor<?x8xf16> to tensor<?x8xf32>
  %1 = mpc.reduce sum %0 {axes = array<i64: 0>} : tensor<?x8xf32> -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
