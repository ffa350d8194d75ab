// RUN: mpc-opt %s --mpc-raise-slices | FileCheck %s
// RUN: mpc-opt %s --mpc-raise-slices --mpc-raise-slices | FileCheck %s
// What slices of an op are read from is computed slice by slice.

// The sum of a recurrent layer's gates: two chained sums, a vector, and an op of one number.
// CHECK-LABEL: func.func @gates
// CHECK-NOT: tensor<?x8xf32>, tensor<?x8xf32>
// CHECK-DAG: %[[X0:.*]] = mpc.slice %arg0 {axis = 1 : i64, offset = 0 : i64, size = 4 : i64} : tensor<?x8xf32> -> tensor<?x4xf32>
// CHECK-DAG: %[[Y0:.*]] = mpc.slice %arg1 {axis = 1 : i64, offset = 0 : i64, size = 4 : i64} : tensor<?x8xf32> -> tensor<?x4xf32>
// CHECK-DAG: %[[B0:.*]] = mpc.slice %arg2 {axis = 0 : i64, offset = 0 : i64, size = 4 : i64} : tensor<8xf32> -> tensor<4xf32>
// CHECK-DAG: %[[X1:.*]] = mpc.slice %arg0 {axis = 1 : i64, offset = 4 : i64, size = 4 : i64} : tensor<?x8xf32> -> tensor<?x4xf32>
// CHECK-DAG: %[[Y1:.*]] = mpc.slice %arg1 {axis = 1 : i64, offset = 4 : i64, size = 4 : i64} : tensor<?x8xf32> -> tensor<?x4xf32>
// CHECK-DAG: %[[B1:.*]] = mpc.slice %arg2 {axis = 0 : i64, offset = 4 : i64, size = 4 : i64} : tensor<8xf32> -> tensor<4xf32>
// CHECK-DAG: %[[S0:.*]] = mpc.add %[[X0]], %[[Y0]] : tensor<?x4xf32>, tensor<?x4xf32>
// CHECK-DAG: %[[Z0:.*]] = mpc.add %[[S0]], %[[B0]] : tensor<?x4xf32>, tensor<4xf32>
// CHECK-DAG: %[[S1:.*]] = mpc.add %[[X1]], %[[Y1]] : tensor<?x4xf32>, tensor<?x4xf32>
// CHECK-DAG: %[[Z1:.*]] = mpc.add %[[S1]], %[[B1]] : tensor<?x4xf32>, tensor<4xf32>
// CHECK-DAG: %[[I:.*]] = mpc.sigmoid %[[Z0]]
// CHECK-DAG: %[[G:.*]] = mpc.tanh %[[Z1]]
// CHECK: mpc.multiply %[[I]], %[[G]]
func.func @gates(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>, %b: tensor<8xf32>) -> tensor<?x4xf32> attributes {mpc.entry} {
  %0 = mpc.add %x, %y : tensor<?x8xf32>, tensor<?x8xf32>
  %1 = mpc.add %0, %b : tensor<?x8xf32>, tensor<8xf32>
  %2 = mpc.slice %1 {axis = 1 : i64, offset = 0 : i64, size = 4 : i64} : tensor<?x8xf32> -> tensor<?x4xf32>
  %3 = mpc.slice %1 {axis = 1 : i64, offset = 4 : i64, size = 4 : i64} : tensor<?x8xf32> -> tensor<?x4xf32>
  %4 = mpc.sigmoid %2 : tensor<?x4xf32>
  %5 = mpc.tanh %3 : tensor<?x4xf32>
  %6 = mpc.multiply %4, %5 : tensor<?x4xf32>, tensor<?x4xf32>
  return %6 : tensor<?x4xf32>
}

// A number for each row meets every slice, and what no slice reads is not computed.
// CHECK-LABEL: func.func @numbers_of_rows
// CHECK: %[[PART:.*]] = mpc.slice %arg0 {axis = 1 : i64, offset = 2 : i64, size = 3 : i64} : tensor<?x8xf32> -> tensor<?x3xf32>
// CHECK-NEXT: %[[SCALED:.*]] = mpc.multiply %[[PART]], %arg1 : tensor<?x3xf32>, tensor<?x1xf32>
// CHECK-NEXT: mpc.tanh %[[SCALED]] : tensor<?x3xf32>
func.func @numbers_of_rows(%x: tensor<?x8xf32>, %s: tensor<?x1xf32>) -> tensor<?x3xf32> attributes {mpc.entry} {
  %0 = mpc.multiply %x, %s : tensor<?x8xf32>, tensor<?x1xf32>
  %1 = mpc.slice %0 {axis = 1 : i64, offset = 2 : i64, size = 3 : i64} : tensor<?x8xf32> -> tensor<?x3xf32>
  %2 = mpc.tanh %1 : tensor<?x3xf32>
  return %2 : tensor<?x3xf32>
}

// A cast, whose result has another element type.
// CHECK-LABEL: func.func @cast
// CHECK: %[[PART:.*]] = mpc.slice %arg0 {{.*}} : tensor<?x8xf32> -> tensor<?x4xf32>
// CHECK-NEXT: %[[NARROW:.*]] = mpc.cast %[[PART]] : tensor<?x4xf32> to tensor<?x4xbf16>
// CHECK-NEXT: mpc.tanh %[[NARROW]] : tensor<?x4xbf16>
func.func @cast(%x: tensor<?x8xf32>) -> tensor<?x4xbf16> attributes {mpc.entry} {
  %0 = mpc.cast %x : tensor<?x8xf32> to tensor<?x8xbf16>
  %1 = mpc.slice %0 {axis = 1 : i64, offset = 4 : i64, size = 4 : i64} : tensor<?x8xbf16> -> tensor<?x4xbf16>
  %2 = mpc.tanh %1 : tensor<?x4xbf16>
  return %2 : tensor<?x4xbf16>
}
