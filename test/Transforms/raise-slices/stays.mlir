// RUN: mpc-opt %s --mpc-raise-slices | FileCheck %s
// Slices that stay behind what they read.

// Elements that two slices have in common would be computed twice.
// CHECK-LABEL: func.func @overlap
// CHECK-NEXT: mpc.exp %arg0 : tensor<?x8xf32>
func.func @overlap(%x: tensor<?x8xf32>) -> tensor<?x5xf32> attributes {mpc.entry} {
  %0 = mpc.exp %x : tensor<?x8xf32>
  %1 = mpc.slice %0 {axis = 1 : i64, offset = 0 : i64, size = 5 : i64} : tensor<?x8xf32> -> tensor<?x5xf32>
  %2 = mpc.slice %0 {axis = 1 : i64, offset = 3 : i64, size = 5 : i64} : tensor<?x8xf32> -> tensor<?x5xf32>
  %3 = mpc.add %1, %2 : tensor<?x5xf32>, tensor<?x5xf32>
  return %3 : tensor<?x5xf32>
}

// The whole is read, too.
// CHECK-LABEL: func.func @whole
// CHECK-NEXT: mpc.exp %arg0 : tensor<?x8xf32>
func.func @whole(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x4xf32>) attributes {mpc.entry} {
  %0 = mpc.exp %x : tensor<?x8xf32>
  %1 = mpc.slice %0 {axis = 1 : i64, offset = 0 : i64, size = 4 : i64} : tensor<?x8xf32> -> tensor<?x4xf32>
  %2 = mpc.tanh %1 : tensor<?x4xf32>
  return %0, %2 : tensor<?x8xf32>, tensor<?x4xf32>
}

// A product does not join what it reads.
// CHECK-LABEL: func.func @product
// CHECK-NEXT: mpc.exp %arg0 : tensor<?x8xf32>
func.func @product(%x: tensor<?x8xf32>, %w: tensor<4x3xf32>) -> tensor<?x3xf32> attributes {mpc.entry} {
  %0 = mpc.exp %x : tensor<?x8xf32>
  %1 = mpc.slice %0 {axis = 1 : i64, offset = 0 : i64, size = 4 : i64} : tensor<?x8xf32> -> tensor<?x4xf32>
  %2 = mpc.contract %1, %w contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  return %2 : tensor<?x3xf32>
}

// Slices along two axes.
// CHECK-LABEL: func.func @axes
// CHECK-NEXT: mpc.exp %arg0 : tensor<?x8x8xf32>
func.func @axes(%x: tensor<?x8x8xf32>) -> (tensor<?x4x8xf32>, tensor<?x8x4xf32>) attributes {mpc.entry} {
  %0 = mpc.exp %x : tensor<?x8x8xf32>
  %1 = mpc.slice %0 {axis = 1 : i64, offset = 0 : i64, size = 4 : i64} : tensor<?x8x8xf32> -> tensor<?x4x8xf32>
  %2 = mpc.slice %0 {axis = 2 : i64, offset = 4 : i64, size = 4 : i64} : tensor<?x8x8xf32> -> tensor<?x8x4xf32>
  %3 = mpc.tanh %1 : tensor<?x4x8xf32>
  %4 = mpc.tanh %2 : tensor<?x8x4xf32>
  return %3, %4 : tensor<?x4x8xf32>, tensor<?x8x4xf32>
}
