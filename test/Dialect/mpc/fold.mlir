// RUN: mpc-opt %s --canonicalize | FileCheck %s
// Ops that change nothing go.

// CHECK-LABEL: func.func @nothing
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xbf16>)
func.func @nothing(%x: tensor<?x8xbf16>) -> (tensor<?x8xbf16>, tensor<?x8xbf16>, tensor<?x8xbf16>, tensor<?x8xbf16>) {
  %all = mpc.slice %x {axis = 1 : i64, offset = 0 : i64, size = 8 : i64} : tensor<?x8xbf16> -> tensor<?x8xbf16>
  %padded = mpc.pad %x {axis = 1 : i64, low = 0 : i64, high = 0 : i64, value = 1.0 : f64} : tensor<?x8xbf16> -> tensor<?x8xbf16>
  %alone = mpc.concatenate %x {axis = 1 : i64} : (tensor<?x8xbf16>) -> tensor<?x8xbf16>
  %repeated = mpc.broadcast_like %x, %x : tensor<?x8xbf16>, tensor<?x8xbf16>
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]]
  return %all, %padded, %alone, %repeated : tensor<?x8xbf16>, tensor<?x8xbf16>, tensor<?x8xbf16>, tensor<?x8xbf16>
}

// CHECK-LABEL: func.func @something
func.func @something(%x: tensor<?x8xf32>, %y: tensor<?x1xf32>) -> (tensor<?x7xf32>, tensor<?x9xf32>, tensor<?x9xf32>, tensor<?x8xf32>) {
  // CHECK: mpc.slice
  %most = mpc.slice %x {axis = 1 : i64, offset = 1 : i64, size = 7 : i64} : tensor<?x8xf32> -> tensor<?x7xf32>
  // CHECK: mpc.pad
  %padded = mpc.pad %x {axis = 1 : i64, low = 1 : i64, high = 0 : i64, value = 0.0 : f64} : tensor<?x8xf32> -> tensor<?x9xf32>
  // CHECK: mpc.concatenate
  %both = mpc.concatenate %x, %y {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x9xf32>
  // CHECK: mpc.broadcast_like
  %repeated = mpc.broadcast_like %y, %x : tensor<?x1xf32>, tensor<?x8xf32>
  return %most, %padded, %both, %repeated : tensor<?x7xf32>, tensor<?x9xf32>, tensor<?x9xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: func.func @reshapes
// CHECK-SAME: (%[[X:.*]]: tensor<?x2x3x4xf16>)
func.func @reshapes(%x: tensor<?x2x3x4xf16>) -> (tensor<?x4x6xf16>, tensor<?x2x3x4xf16>) {
  %flat = mpc.reshape %x : tensor<?x2x3x4xf16> -> tensor<?x24xf16>
  // CHECK-NEXT: %[[R:.*]] = mpc.reshape %[[X]] : tensor<?x2x3x4xf16> -> tensor<?x4x6xf16>
  %other = mpc.reshape %flat : tensor<?x24xf16> -> tensor<?x4x6xf16>
  %back = mpc.reshape %other : tensor<?x4x6xf16> -> tensor<?x2x3x4xf16>
  // CHECK-NEXT: return %[[R]], %[[X]]
  return %other, %back : tensor<?x4x6xf16>, tensor<?x2x3x4xf16>
}

// A known condition chooses, but not a value that would have to be repeated.
// CHECK-LABEL: func.func @select
// CHECK-SAME: (%[[M:.*]]: tensor<?x8xi1>, %[[A:.*]]: tensor<?x8xf32>, %[[B:.*]]: tensor<f32>)
func.func @select(%m: tensor<?x8xi1>, %a: tensor<?x8xf32>, %b: tensor<f32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  %true = mpc.constant dense<true> : tensor<i1>
  %false = mpc.constant dense<false> : tensor<i1>
  %first = mpc.select %true, %a, %b : tensor<i1>, tensor<?x8xf32>, tensor<f32>
  // CHECK: %[[S:.*]] = mpc.select
  %second = mpc.select %false, %a, %b : tensor<i1>, tensor<?x8xf32>, tensor<f32>
  %either = mpc.select %m, %a, %a : tensor<?x8xi1>, tensor<?x8xf32>, tensor<?x8xf32>
  // CHECK: return %[[A]], %[[S]], %[[A]]
  return %first, %second, %either : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}
