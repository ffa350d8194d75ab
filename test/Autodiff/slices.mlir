// RUN: mpc-opt %s --mpc-differentiate --canonicalize --cse | FileCheck %s
// The cotangents of neighbouring slices stand side by side: no tensors of the whole size that are zero elsewhere, and no sums.
// CHECK-LABEL: func.func @gradients
// CHECK-NOT: mpc.pad
// CHECK: mpc.concatenate %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<?x2xf32>, tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x8xf32>
// CHECK-NOT: mpc.pad
// CHECK: return
mpc.variable @k : tensor<8x8xf32> role trainable
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %k: tensor<8x8xf32> {mpc.variable = @k}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %y = mpc.contract %x, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %a = mpc.slice %y {axis = 1 : i64, offset = 0 : i64, size = 2 : i64} : tensor<?x8xf32> -> tensor<?x2xf32>
  %b = mpc.slice %y {axis = 1 : i64, offset = 2 : i64, size = 3 : i64} : tensor<?x8xf32> -> tensor<?x3xf32>
  %c = mpc.slice %y {axis = 1 : i64, offset = 5 : i64, size = 3 : i64} : tensor<?x8xf32> -> tensor<?x3xf32>
  %t = mpc.tanh %a : tensor<?x2xf32>
  %u = mpc.sin %b : tensor<?x3xf32>
  %v = mpc.exp %c : tensor<?x3xf32>
  %out = mpc.concatenate %t, %v, %u {axis = 1 : i64} : (tensor<?x2xf32>, tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x8xf32>
  return %out : tensor<?x8xf32>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %m = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %m : tensor<f32>
}
