// RUN: mpc-opt %s --mpc-sink-updates | FileCheck %s
// RUN: mpc-opt %s --mpc-sink-updates --mpc-sink-updates | FileCheck %s
// Small work of the end goes there, in its order; what something else waits for stays, and so does what
// reads a large tensor, which would live until the end.

// The largest magnitude reads all of %x; the rest of the history's move is small.
// CHECK-LABEL: func.func @history
// CHECK: mpc.abs
// CHECK-NEXT: mpc.reduce max
// CHECK-NEXT: %[[Y:.*]] = mpc.contract
// CHECK-NEXT: %[[CAST:.*]] = mpc.cast
// CHECK-NEXT: mpc.reshape %[[CAST]]
// CHECK-NEXT: mpc.slice
// CHECK-NEXT: mpc.concatenate
// CHECK-NEXT: return %[[Y]]
func.func @history(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>, %h: tensor<4xf32>) -> (tensor<?x32xbf16>, tensor<4xf32>) attributes {mpc.entry} {
  %0 = mpc.abs %x : tensor<?x64xbf16>
  %1 = mpc.reduce max %0 {axes = array<i64: 0, 1>} : tensor<?x64xbf16> -> tensor<bf16>
  %2 = mpc.cast %1 : tensor<bf16> to tensor<f32>
  %3 = mpc.reshape %2 : tensor<f32> -> tensor<1xf32>
  %4 = mpc.slice %h {axis = 0 : i64, offset = 1 : i64, size = 3 : i64} : tensor<4xf32> -> tensor<3xf32>
  %5 = mpc.concatenate %3, %4 {axis = 0 : i64} : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
  %6 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x64xbf16>, tensor<64x32xbf16>) -> tensor<?x32xbf16>
  return %6, %5 : tensor<?x32xbf16>, tensor<4xf32>
}

// The product needs the scale, and whoever reads it at the end, too, does not change that.
// CHECK-LABEL: func.func @needed
// CHECK: mpc.multiply %{{.*}}, %{{.*}} : tensor<f32>
// CHECK-NEXT: mpc.multiply %{{.*}} : tensor<?x64xf32>, tensor<f32>
// CHECK-NEXT: mpc.contract
// CHECK-NEXT: return
func.func @needed(%x: tensor<?x64xf32>, %w: tensor<64x32xf32>, %s: tensor<f32>) -> (tensor<?x32xf32>, tensor<f32>) attributes {mpc.entry} {
  %0 = mpc.multiply %s, %s : tensor<f32>, tensor<f32>
  %1 = mpc.multiply %x, %0 : tensor<?x64xf32>, tensor<f32>
  %2 = mpc.contract %1, %w contracting [1] x [0] : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
  return %2, %0 : tensor<?x32xf32>, tensor<f32>
}

// A number a sample is small, three are not; 16385 for all of them are not.
// CHECK-LABEL: func.func @samples
// CHECK: mpc.multiply %{{.*}} : tensor<?x3xf32>
// CHECK-NEXT: mpc.multiply %{{.*}} : tensor<16385xf32>
// CHECK-NEXT: mpc.contract
// CHECK-NEXT: mpc.multiply %{{.*}} : tensor<?xf32>
// CHECK-NEXT: mpc.multiply %{{.*}} : tensor<16384xf32>
// CHECK-NEXT: return
func.func @samples(%x: tensor<?x64xf32>, %w: tensor<64x32xf32>, %a: tensor<?xf32>, %b: tensor<?x3xf32>, %c: tensor<16384xf32>, %d: tensor<16385xf32>)
    -> (tensor<?x32xf32>, tensor<?xf32>, tensor<?x3xf32>, tensor<16384xf32>, tensor<16385xf32>) attributes {mpc.entry} {
  %0 = mpc.multiply %a, %a : tensor<?xf32>, tensor<?xf32>
  %1 = mpc.multiply %b, %b : tensor<?x3xf32>, tensor<?x3xf32>
  %2 = mpc.multiply %c, %c : tensor<16384xf32>, tensor<16384xf32>
  %3 = mpc.multiply %d, %d : tensor<16385xf32>, tensor<16385xf32>
  %4 = mpc.contract %x, %w contracting [1] x [0] : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
  return %4, %0, %1, %2, %3 : tensor<?x32xf32>, tensor<?xf32>, tensor<?x3xf32>, tensor<16384xf32>, tensor<16385xf32>
}
